#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "io/metrics/record/figures.h"

namespace stoker {

// A CSV file of rows of figures; an empty field was not measured. The first row gives the names, so
// all others have the same ones. A process that is killed leaves whole rows. One thread at a time.
// Throws IoError; a file that is there already is an error.
class CsvFile {
 public:
  explicit CsvFile(const std::string& path);
  void add(const std::vector<RowField>& row);
  void flush();

 private:
  void put(const std::string& line);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::string path_;
  const std::unique_ptr<std::FILE, Close> file_;
  bool header_ = false;
};

}  // namespace stoker

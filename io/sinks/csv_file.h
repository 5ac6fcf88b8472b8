#pragma once

#include <string>
#include <vector>

#include "io/metrics/record/figures.h"
#include "io/sinks/stdio_file.h"

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

  const std::string path_;
  const StdioFile file_;
  bool header_ = false;
};

}  // namespace stoker

#pragma once

#include <string>
#include <vector>

#include "io/metrics/record/figures.h"
#include "io/sinks/output_file.h"

namespace stoker {

// A CSV file of rows of figures; an empty field was not measured. The first row gives the names, so
// all others need the same fields in the same order. Commas, quotes and control characters in a
// name (a tier's may hold anything) become underscores. A process that is killed leaves whole rows.
// One thread at a time. Throws IoError; a file that is there already is an error.
class CsvFile {
 public:
  // Makes the file at once; names come with the first row.
  explicit CsvFile(const std::string& path) : file_(path) {}
  // One write: the row, before the first one the names. Counts are written with 15 digits, Unix
  // times with 13, all others with 9.
  void add(const std::vector<RowField>& row);

 private:
  const OutputFile file_;
  bool header_ = false;
};

}  // namespace stoker

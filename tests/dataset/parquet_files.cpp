#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>

#include "tests/dataset/parquet_tables.h"

// parquet_files DIRECTORY FILES ROWS BYTES GROUP: fills a directory with files as DLIO's generator
// writes them: img_0_of_2.parquet and so on, with a column `data` of lists of BYTES bytes, in row
// groups of at most GROUP rows.

namespace stoker {
namespace {

void write(const std::string& directory, int64_t files, int64_t rows, size_t bytes, int64_t group) {
  for (int64_t i = 0; i < files; ++i) {
    ParquetForm form;
    form.codec = arrow::Compression::GZIP;
    form.rows_in_group = group;
    const std::string path =
        directory + "/img_" + std::to_string(i) + "_of_" + std::to_string(files) + ".parquet";
    std::ofstream(path, std::ios::binary)
        << parquet_file({{"data", byte_lists(records(i * rows, rows, bytes))}}, form);
  }
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  try {
    stoker::write(argv[1], std::atoll(argv[2]), std::atoll(argv[3]),
                  static_cast<size_t>(std::atoll(argv[4])), std::atoll(argv[5]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

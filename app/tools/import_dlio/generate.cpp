#include "app/tools/import_dlio/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <thread>

#include "app/tools/import_dlio/record_file.h"
#include "io/core/error.h"
#include "io/core/random.h"
#include "io/core/system/usable_cores.h"
#include "io/core/threads.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// A whole number of at least 1, of a normal distribution.
int64_t draw(double mean, double stdev, Random& random) {
  if (stdev <= 0) return std::max<int64_t>(1, static_cast<int64_t>(mean));
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  const double value = mean + stdev * radius * std::cos(2 * std::numbers::pi * random.uniform());
  return std::max<int64_t>(1, static_cast<int64_t>(value));
}

std::string padded(int64_t number, int64_t of) {
  return fmt::format("{:0{}}", number, fmt::formatted_size("{}", of));
}

// File `index` of `files`, as DLIO's generator calls it.
std::string file_name(const DlioWorkload& w, const std::string& part, int64_t index, int64_t files,
                      int64_t subfolders) {
  const std::string folder = subfolders > 1 ? padded(index % subfolders, subfolders) + "/" : "";
  return fmt::format("{}/{}{}_{}_of_{}.{}", part, folder, w.prefix, padded(index, files), files,
                     w.format);
}

RecordFile record_file(const DlioWorkload& w, const std::string& directory, int64_t index) {
  const auto seed = mix(static_cast<uint64_t>(w.seed), static_cast<uint64_t>(index));
  Random random(mix(seed, 1));
  const double side = std::floor(std::sqrt(w.record_bytes));
  const double stdev = w.record_stdev / 2 / std::sqrt(w.record_bytes);
  const bool train = index < w.files;
  RecordFile file;
  file.path = directory + "/" +
              (train ? file_name(w, "train", index, w.files, w.subfolders)
                     : file_name(w, "valid", index - w.files, w.test_files, w.test_subfolders));
  file.rows = draw(side, stdev, random);
  file.columns = draw(side, stdev, random);
  file.records = w.samples_per_file;
  file.name = w.hdf5_name;
  file.seed = seed;
  return file;
}

void refuse(const DlioWorkload& w, const std::string& directory) {
  if (w.format == "png" || w.format == "parquet") {
    throw Error(ExitCode::config,
                fmt::format("dataset.format {}: such files are read, and not generated: let DLIO "
                            "generate them, or set dataset.format to {}",
                            w.format, w.format == "png" ? "jpeg" : "hdf5"));
  }
  if (w.element_type != "uint8" || w.compression != "none") {
    throw Error(ExitCode::config,
                "dataset.record_element_type and dataset.compression: only uncompressed uint8 is "
                "generated: let DLIO generate the data");
  }
  std::error_code none;
  for (const char* const part : {"/train", "/valid"}) {
    const std::string folder = directory + part;
    if (fs::exists(folder, none) && !fs::is_empty(folder, none)) {
      throw Error(ExitCode::environment,
                  folder +
                      ": there are files already: name another folder, or leave out --generate "
                      "and give it by --data");
    }
  }
}

}  // namespace

DlioData generate(const DlioWorkload& workload, const std::string& directory,
                  const std::function<void(int64_t, int64_t)>& progress) {
  refuse(workload, directory);
  // While one thread waits for the medium, others fill memory.
  constexpr int64_t kLeastThreads = 4;
  const int64_t files = workload.files + (workload.evaluate ? workload.test_files : 0);
  for (const char* const part : {"/train", "/valid"}) fs::create_directories(directory + part);
  const TimePoint begin = Clock::now();
  std::atomic<int64_t> done = 0;
  std::atomic<uint64_t> bytes = 0;
  parallel_for(std::max<int64_t>(kLeastThreads, usable_cores()), files,
               [&, caller = std::this_thread::get_id()](int64_t index) {
                 bytes +=
                     write_record_file(workload.format, record_file(workload, directory, index));
                 ++done;
                 if (std::this_thread::get_id() == caller) progress(done, files);
               });
  progress(files, files);
  return {files, bytes, seconds(Clock::now() - begin)};
}

}  // namespace stoker

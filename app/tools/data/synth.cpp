#include "app/tools/data/synth.h"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/tools/data/synth_database.h"
#include "app/tools/data/synth_hdf5.h"
#include "io/core/system/file.h"
#include "io/core/parallel.h"
#include "io/core/random.h"
#include "io/core/system/usable_cores.h"
#include "io/dataset/synthetic_bytes.h"

namespace stoker {
namespace {

// Returns its bytes.
uint64_t write_sample(const SynthOptions& options, int64_t index) {
  const int64_t label = index % options.classes;
  const uint64_t seed = mix(options.seed, static_cast<uint64_t>(index));
  const bool jpeg = options.kind == "jpeg";
  const std::vector<uint8_t> content =
      jpeg ? synthetic_jpeg(options.image, options.classes, label, seed)
           : synthetic_bytes(static_cast<size_t>(synthetic_size(options.image, seed)), label, seed);
  atomic_write_file(fmt::format("{}/{}/{:06}.{}", options.directory, synthetic_class_name(label),
                                index, jpeg ? "jpg" : "bin"),
                    content);
  return content.size();
}

}  // namespace

SynthResult synth_dataset(const SynthOptions& options,
                          const std::function<void(int64_t, int64_t)>& progress) {
  namespace fs = std::filesystem;
  if (fs::exists(options.directory) && !fs::is_empty(options.directory)) {
    throw Error(ExitCode::environment,
                "dataset synth: " + options.directory + " is not empty; name a new directory");
  }
  if (options.kind == "datum") return synth_database(options, progress);
  if (options.kind == "hep" || options.kind == "climate") return synth_hdf5(options, progress);
  std::atomic<int64_t> files = 0;
  std::atomic<uint64_t> bytes = 0;
  const int64_t threads = options.threads > 0 ? options.threads : usable_cores();
  parallel_for(threads, options.files, [&, caller = std::this_thread::get_id()](int64_t index) {
    bytes += write_sample(options, index);
    ++files;
    if (progress && std::this_thread::get_id() == caller) progress(files, options.files);
  });
  if (progress) progress(options.files, options.files);
  return {files, bytes};
}

ExitCode synth(const SynthOptions& options) {
  const SynthResult result = synth_dataset(options, progress_of("samples"));
  return print_result(
      options.json,
      {{"directory", options.directory}, {"files", result.files}, {"bytes", result.bytes}},
      fmt::format("{}: {} {}, {} bytes\n", options.directory, result.files,
                  options.kind == "datum" ? "records" : "files", result.bytes));
}

}  // namespace stoker

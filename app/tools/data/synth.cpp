#include "app/tools/data/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "io/core/random.h"
#include "io/core/sample_spec.h"
#include "io/core/system/file.h"
#include "io/core/system/usable_cores.h"
#include "io/core/threads.h"
#include "io/dataset/synthetic_image.h"
#include "io/loader/lmdbio/database/datum.h"
#include "io/loader/lmdbio/database/lmdb_file.h"

namespace stoker {
namespace {

// A file that looks like byte code, of exactly `bytes` bytes: lines of 64 bytes out of few that are
// its class's own, each with some bytes changed, so that as a grey image it has a texture which a
// model can learn. A pure function of its arguments. Any thread. Takes about 1 ms a MB.
std::vector<uint8_t> synthetic_bytes(size_t bytes, int64_t label, uint64_t seed);

using CodeLine = std::array<uint8_t, 64>;

// Runs of a few values: instructions and their operands.
CodeLine draw_line(Random& random) {
  CodeLine line{};
  for (size_t at = 0; at < line.size();) {
    const size_t run = std::min<size_t>(1 + random.below(12), line.size() - at);
    std::memset(line.data() + at, static_cast<int>(random.below(256)), run);
    at += run;
  }
  return line;
}

std::vector<uint8_t> synthetic_bytes(size_t bytes, int64_t label, uint64_t seed) {
  std::array<CodeLine, 8> lines;
  Random of_class(mix(7, static_cast<uint64_t>(label)));
  for (CodeLine& line : lines) line = draw_line(of_class);
  Random random(seed);
  std::vector<uint8_t> out(bytes);
  for (size_t at = 0; at < bytes; at += sizeof(CodeLine)) {
    uint64_t bits = random.next();
    CodeLine line = lines[bits % lines.size()];
    for (int change = 0; change < 4; ++change) {
      bits >>= 14;
      line[bits % line.size()] = static_cast<uint8_t>(bits >> 6);
    }
    std::memcpy(out.data() + at, line.data(), std::min(line.size(), bytes - at));
  }
  return out;
}

// Writes generated pixels as an LMDB database, as Caffe's tools make them of real ones: DIRECTORY/
// train_lmdb/data.mdb and classes.txt. Its records are Datums of 3 x size x size bytes and a label,
// 1,000 a transaction, appended one after the other: with size 32 those of CIFAR10-Large (3 KB),
// with 256 those of ImageNet as LMDBIO's papers store it (192 KB). Needs the memory of a
// transaction. Contract as synth_dataset(); one thread.
SynthResult synth_database(const SynthOptions& options,
                           const std::function<void(int64_t, int64_t)>& progress = {});

namespace fs = std::filesystem;

// Sides of an image.
constexpr int64_t kSize = 32;
constexpr int64_t kMaxSize = 512;
// Pages of a transaction of 1,000 of the largest records.
constexpr uint64_t kMostPages = uint64_t{1} << 18;

// The pixels are noise, because their values cost readers nothing.
void fill_pixels(std::vector<uint8_t>& pixels, uint64_t seed) {
  Random random(seed);
  for (size_t at = 0; at < pixels.size(); at += sizeof(uint64_t)) {
    const uint64_t eight = random.next();
    std::memcpy(pixels.data() + at, &eight, std::min(sizeof eight, pixels.size() - at));
  }
}

void write_class_names(const SynthOptions& options) {
  std::string names;
  for (int64_t label = 0; label < options.classes; ++label) {
    names += synthetic_class_name(label) + "\n";
  }
  atomic_write_file(options.directory + "/classes.txt",
                    {reinterpret_cast<const uint8_t*>(names.data()), names.size()});
}

SynthResult synth_database(const SynthOptions& options,
                           const std::function<void(int64_t, int64_t)>& progress) {
  const fs::path folder = fs::path(options.directory) / "train_lmdb";
  fs::create_directories(folder);
  const int64_t size = options.size > 0 ? options.size : kSize;
  if (size > kMaxSize) {
    throw Error(ExitCode::config, fmt::format("dataset synth: --size {} is more than {}, the "
                                              "largest side of a datum",
                                              size, kMaxSize));
  }
  const SampleSpec spec{size, size};
  std::vector<uint8_t> pixels(spec.bytes());
  SynthResult result;
  // An unfinished database is removed, so that nobody takes it for a whole one.
  const std::string half = folder / ".tmp-data.mdb";
  LmdbFile file(half, kMostPages);
  for (int64_t index = 0; index < options.files; ++index) {
    const int64_t label = index % options.classes;
    fill_pixels(pixels, mix(options.seed, static_cast<uint64_t>(index)));
    const std::string datum = pixel_datum(pixels, spec, static_cast<int32_t>(label));
    file.add(fmt::format("{}/{:08}", synthetic_class_name(label), index), datum);
    result.bytes += datum.size();
    ++result.files;
    if (progress) progress(result.files, options.files);
  }
  file.finish();
  fs::rename(half, folder / "data.mdb");
  write_class_names(options);
  return result;
}

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

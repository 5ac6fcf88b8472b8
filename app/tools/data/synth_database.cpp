#include "app/tools/data/synth_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "io/core/random.h"
#include "io/core/sample_spec.h"
#include "io/core/system/file.h"
#include "io/dataset/synthetic_image.h"
#include "io/loader/lmdbio/database/datum.h"
#include "io/loader/lmdbio/database/lmdb_file.h"

namespace stoker {
namespace {

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

}  // namespace

SynthResult synth_database(const SynthOptions& options,
                           const std::function<void(int64_t, int64_t)>& progress) {
  const fs::path folder = fs::path(options.directory) / "train_lmdb";
  fs::create_directories(folder);
  write_class_names(options);
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
  return result;
}

}  // namespace stoker

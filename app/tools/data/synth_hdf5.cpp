#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "app/tools/data/climate_fields.h"
#include "app/tools/data/synth.h"
#include "io/core/random.h"
#include "io/core/system/file.h"
#include "io/core/system/usable_cores.h"
#include "io/core/threads.h"
#include "io/dataset/formats/hdf5/hdf5_frame.h"

namespace stoker {
namespace {

// Images like those of the high-energy-physics benchmark HEPCNNB: what a calorimeter saw of one
// collision, three planes of size x size (electromagnetic energy, hadronic energy, tracks), mostly
// zeros. Jets are spots; a signal has more and harder ones than the background, with an overlap,
// so that a classifier that learns comes to an AUC well above 0.5 and below 1.

// The label of event `index` of a file: 1 is a signal. Pure; any thread.
int64_t hep_label(uint64_t seed, int64_t index);
// Fills [3, size, size]. A pure function of its arguments, the same on every machine; any thread.
void fill_hep_event(std::span<float> planes, int64_t size, int64_t label, uint64_t seed);

// A spot whose height falls with the distance, cut off where little is left. No function of libm:
// they differ from machine to machine.
void add_spot(std::span<float> plane, int64_t size, double x, double y, double radius,
              double height) {
  const auto reach = static_cast<int64_t>(4 * radius) + 1;
  const auto column = static_cast<int64_t>(x), row = static_cast<int64_t>(y);
  for (int64_t i = std::max<int64_t>(0, row - reach); i < std::min(size, row + reach + 1); ++i) {
    for (int64_t k = column - reach; k <= column + reach; ++k) {
      const double dx = static_cast<double>(k) - x, dy = static_cast<double>(i) - y;
      const double near = 1 + (dx * dx + dy * dy) / (radius * radius);
      const int64_t wrapped = (k % size + size) % size;  // the detector is round
      plane[static_cast<size_t>(i * size + wrapped)] += static_cast<float>(height / (near * near));
    }
  }
}

int64_t hep_label(uint64_t seed, int64_t index) {
  return static_cast<int64_t>(mix(seed, static_cast<uint64_t>(index), 1) % 2);
}

void fill_hep_event(std::span<float> planes, int64_t size, int64_t label, uint64_t seed) {
  std::ranges::fill(planes, 0.0f);
  Random random(seed);
  const auto pixels = static_cast<size_t>(size * size);
  const double side = static_cast<double>(size);
  const auto jets = 2 + random.below(3) + (label == 1 ? 1 + random.below(3) : 0);
  for (uint64_t jet = 0; jet < jets; ++jet) {
    const double x = random.uniform(0, side), y = random.uniform(0.1 * side, 0.9 * side);
    const double radius = std::max(0.75, random.uniform(0.008, 0.02) * side);
    const double energy = random.uniform(0.2, 1.0) * (label == 1 ? 1.2 : 1.0);
    const double electromagnetic = random.uniform(0.3, 0.7);
    add_spot(planes.first(pixels), size, x, y, radius, energy * electromagnetic);
    add_spot(planes.subspan(pixels, pixels), size, x, y, 1.5 * radius,
             energy * (1 - electromagnetic));
    add_spot(planes.subspan(2 * pixels, pixels), size, x, y, radius, random.uniform(0.5, 1));
  }
  for (uint64_t hits = pixels / 100; hits > 0; --hits) {
    planes[random.below(3 * pixels)] += static_cast<float>(random.uniform(0, 0.1));
  }
}

constexpr int64_t kHepSize = 224;
constexpr int64_t kClimateSize = 768;

template <class T>
Bytes bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}
template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  return bytes_of(std::span<const T>(values));
}

// fill(i, file): appends the values of data set i. Returns the file's bytes.
uint64_t write_hdf5_file(const std::string& path, const std::vector<Hdf5Set>& sets,
                         const std::function<void(size_t, AtomicFile&)>& fill) {
  const Hdf5Frame frame(path, sets);
  AtomicFile file(path);
  uint64_t bytes = 0;
  frame.write(
      [&](Bytes part) {
        file.append(part);
        bytes += part.size();
      },
      [&](size_t set) {
        fill(set, file);
        bytes += sets[set].bytes();
      });
  file.commit();
  return bytes;
}

// Writes the events [0, count) of the file with this seed.
uint64_t write_hep_file(const std::string& path, int64_t size, int64_t count, uint64_t seed) {
  const auto events = static_cast<uint64_t>(count), side = static_cast<uint64_t>(size);
  std::vector<float> planes(3 * side * side);
  return write_hdf5_file(path,
                         {{"data", "f4", {events, 3, side, side}},
                          {"label", "i4", {events}},
                          {"normweight", "f4", {events}},
                          {"psr", "i4", {events}},
                          {"weight", "f4", {events}}},
                         [&](size_t set, AtomicFile& file) {
                           for (int64_t i = 0; i < count; ++i) {
                             const auto label = static_cast<int32_t>(hep_label(seed, i));
                             if (set == 0) {
                               fill_hep_event(planes, size, label,
                                              mix(seed, static_cast<uint64_t>(i)));
                               file.append(bytes_of(planes));
                               continue;
                             }
                             const float one = 1;
                             const int32_t zero = 0;
                             if (set == 1) file.append(bytes_of(std::span(&label, 1)));
                             if (set == 3) file.append(bytes_of(std::span(&zero, 1)));
                             if (set == 2 || set == 4) file.append(bytes_of(std::span(&one, 1)));
                           }
                         });
}

uint64_t write_climate_file(const std::string& path, int64_t size, uint64_t seed,
                            ClimateStats& stats) {
  const auto rows = static_cast<uint64_t>(size), columns = rows * 3 / 2;
  const ClimateFields fields = climate_fields(size, static_cast<int64_t>(columns), seed);
  stats = fields.stats;
  return write_hdf5_file(path,
                         {{"climate/data", "f4", {kClimateChannels, rows, columns}, true},
                          {"climate/labels", "f4", {rows, columns}},
                          {"climate/stats", "f4", {kClimateChannels, kClimateStats}}},
                         [&](size_t set, AtomicFile& file) {
                           if (set == 0) file.append(bytes_of(fields.data));
                           if (set == 1) file.append(bytes_of(fields.labels));
                           if (set == 2)
                             file.append({reinterpret_cast<const uint8_t*>(&stats), sizeof stats});
                         });
}

// The statistics of all files together, which are of equal size.
ClimateStats stats_of_all(const std::vector<ClimateStats>& files) {
  ClimateStats all = files.front();
  for (size_t channel = 0; channel < kClimateChannels; ++channel) {
    const double count = static_cast<double>(files.size());
    double mean = 0, squares = 0;
    for (const ClimateStats& file : files) {
      const auto& of = file[channel];
      all[channel][0] = std::min(all[channel][0], of[0]);
      all[channel][1] = std::max(all[channel][1], of[1]);
      mean += of[2] / count;
    }
    for (const ClimateStats& file : files) {
      const double off = file[channel][2] - mean, deviation = file[channel][3];
      squares += (off * off + deviation * deviation) / count;
    }
    all[channel][2] = static_cast<float>(mean);
    all[channel][3] = static_cast<float>(std::sqrt(squares));
  }
  return all;
}

void write_text(const std::string& path, const std::string& text) {
  atomic_write_file(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace

SynthResult synth_hdf5(const SynthOptions& options,
                       const std::function<void(int64_t, int64_t)>& progress) {
  const bool hep = options.kind == "hep";
  const int64_t size = options.size > 0 ? options.size : hep ? kHepSize : kClimateSize;
  const int64_t count = options.files + (hep ? options.test_files : 0);
  std::vector<ClimateStats> stats(hep ? 0 : static_cast<size_t>(count));
  std::atomic<int64_t> files = 0;
  std::atomic<uint64_t> bytes = 0;
  const auto write = [&](int64_t index) {
    const uint64_t seed = mix(options.seed, static_cast<uint64_t>(index));
    const bool train = index < options.files;
    const int64_t number = train ? index : index - options.files;
    const std::string path = fmt::format("{}/{}-{:05}.h5", options.directory,
                                         hep ? (train ? "train" : "test") : "data", number);
    if (!hep) return write_climate_file(path, size, seed, stats[static_cast<size_t>(index)]);
    return write_hep_file(path, size, train ? options.per_file : options.per_test_file, seed);
  };
  const int64_t threads = options.threads > 0 ? options.threads : usable_cores();
  parallel_for(threads, count, [&, caller = std::this_thread::get_id()](int64_t index) {
    bytes += write(index);
    ++files;
    if (progress && std::this_thread::get_id() == caller) progress(files, count);
  });
  if (!hep) {
    const ClimateStats all = stats_of_all(stats);
    bytes += write_hdf5_file(options.directory + "/stats.h5",
                             {{"climate/stats", "f4", {kClimateChannels, kClimateStats}}},
                             [&](size_t, AtomicFile& file) {
                               file.append({reinterpret_cast<const uint8_t*>(&all), sizeof all});
                             });
    ++files;
  }
  write_text(options.directory + "/classes.txt",
             hep ? "background\nsignal\n" : "nothing\ntropical cyclone\natmospheric river\n");
  if (progress) progress(count, count);
  return {files, bytes};
}

}  // namespace stoker

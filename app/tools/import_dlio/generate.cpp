#include "app/tools/import_dlio/generate.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <numbers>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "app/tools/bench_checkpoint/noise.h"
#include "io/core/crc32c.h"
#include "io/core/error.h"
#include "io/core/random.h"
#include "io/core/system/file.h"
#include "io/core/system/usable_cores.h"
#include "io/core/threads.h"
#include "io/core/wire/protobuf.h"
#include "io/dataset/formats/hdf5/hdf5_frame.h"
#include "io/decoder/numpy/npy.h"
#include "io/decoder/numpy/npz.h"
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

namespace {

using Append = std::function<void(Bytes)>;

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
template <class T>
Bytes bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

// An endless stream of bytes that do not compress, in pieces.
class Noise {
 public:
  explicit Noise(uint64_t seed) : seed_(seed) {
    constexpr size_t kLine = 64;  // that fill_noise() writes past the cache
    const auto address = reinterpret_cast<uintptr_t>(memory_.resize(kPiece + kLine));
    piece_ = {memory_.data() + (kLine - address % kLine) % kLine, kPiece};
  }

  // The next `count` bytes of it; returns the CRC-32C of them, going on from `crc`.
  uint32_t write(uint64_t count, const Append& append, uint32_t crc = 0, bool with_crc = false) {
    while (count > 0) {
      if (left_ == 0) fill();
      const Bytes part = Bytes(piece_).last(left_).first(std::min<uint64_t>(left_, count));
      if (with_crc) crc = crc32c(part, crc);
      append(part);
      left_ -= part.size();
      count -= part.size();
    }
    return crc;
  }

 private:
  static constexpr size_t kPiece = 8u << 20;
  static_assert(kPiece % kNoiseBlock == 0);

  void fill() {
    fill_noise(seed_, offset_, piece_);
    offset_ += kPiece;
    left_ = kPiece;
  }

  const uint64_t seed_;
  uint64_t offset_ = 0;
  Buffer memory_;
  std::span<uint8_t> piece_;
  size_t left_ = 0;
};

// The file under its name when it is whole; counts its bytes.
class Output {
 public:
  explicit Output(const std::string& path) : file_(path) {}
  void append(Bytes bytes) {
    file_.append(bytes);
    bytes_ += bytes.size();
  }
  Append appender() {
    return [this](Bytes bytes) { append(bytes); };
  }
  uint64_t commit() {
    file_.commit();
    return bytes_;
  }

 private:
  AtomicFile file_;
  uint64_t bytes_ = 0;
};

uint64_t record_bytes(const RecordFile& file) {
  return static_cast<uint64_t>(file.rows) * static_cast<uint64_t>(file.columns);
}
uint64_t all_bytes(const RecordFile& file) {
  return record_bytes(file) * static_cast<uint64_t>(file.records);
}

uint64_t write_npy(const RecordFile& file) {
  Output out(file.path);
  out.append(bytes_of(npy_head({"uint8", {file.rows, file.columns, file.records}})));
  Noise(file.seed).write(all_bytes(file), out.appender());
  return out.commit();
}

uint64_t write_npz(const RecordFile& file) {
  Output out(file.path);
  NpzWriter archive(out.appender());
  archive.begin("x");
  archive.write(bytes_of(npy_head({"uint8", {file.rows, file.columns, file.records}})));
  Noise(file.seed).write(all_bytes(file), [&](Bytes bytes) { archive.write(bytes); });
  archive.begin("y");
  archive.write(bytes_of(npy_head({"int64", {file.records}})));
  const std::vector<int64_t> labels(static_cast<size_t>(file.records));
  archive.write(bytes_of(std::span<const int64_t>(labels)));
  archive.finish();
  return out.commit();
}

uint64_t write_hdf5(const RecordFile& file) {
  const auto records = static_cast<uint64_t>(file.records);
  const Hdf5Frame frame(
      file.path,
      {{file.name,
        "u1",
        {records, static_cast<uint64_t>(file.rows), static_cast<uint64_t>(file.columns)}},
       {"labels", "i8", {records}}});
  Output out(file.path);
  frame.write(out.appender(), [&](size_t set) {
    if (set == 0) {
      Noise(file.seed).write(all_bytes(file), out.appender());
    } else {
      const std::vector<int64_t> labels(records);
      out.append(bytes_of(std::span<const int64_t>(labels)));
    }
  });
  return out.commit();
}

// The Example of a record up to where its bytes begin, which are its end: its size, and the bytes.
std::string record_example(uint64_t bytes) {
  const auto entry = [](const std::string& name, const std::string& list) {
    return wire_bytes(1, wire_bytes(1, name) + wire_bytes(2, list));
  };
  const std::string number = wire_bytes(1, wire_varint(bytes));
  const std::string size = entry("size", wire_bytes(3, number));
  std::string front = wire_bytes_head(1, bytes);             // the list's value
  front = wire_bytes_head(1, front.size() + bytes) + front;  // bytes_list
  front = wire_bytes(1, "image") + wire_bytes_head(2, front.size() + bytes) + front;
  front = size + wire_bytes_head(1, front.size() + bytes) + front;  // the map
  return wire_bytes_head(1, front.size() + bytes) + front;
}

uint64_t write_tfrecord(const RecordFile& file) {
  Output out(file.path);
  Noise noise(file.seed);
  const uint64_t bytes = record_bytes(file);
  const std::string front = record_example(bytes);
  const auto head = record_head(front.size() + bytes);
  for (int64_t i = 0; i < file.records; ++i) {
    out.append(bytes_of(std::span<const uint8_t>(head)));
    out.append(bytes_of(front));
    const uint32_t crc = noise.write(bytes, out.appender(), crc32c(bytes_of(front)), true);
    const auto tail = record_tail(crc);
    out.append(bytes_of(std::span<const uint8_t>(tail)));
  }
  return out.commit();
}

uint64_t write_numbers(const std::string& path, const std::vector<uint64_t>& numbers) {
  Output out(path);
  out.append(bytes_of(std::span<const uint64_t>(numbers)));
  return out.commit();
}

uint64_t write_indexed_binary(const RecordFile& file) {
  Output out(file.path);
  Noise(file.seed).write(all_bytes(file), out.appender());
  const uint64_t bytes = record_bytes(file);
  const std::vector<uint64_t> sizes(static_cast<size_t>(file.records), bytes);
  std::vector<uint64_t> offsets(sizes.size());
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = i * bytes;
  const uint64_t index =
      write_numbers(file.path + ".off.idx", offsets) + write_numbers(file.path + ".sz.idx", sizes);
  return index + out.commit();  // last: where it is there, its index is
}

// A grey image of noise, of the quality that Pillow has without being told.
uint64_t write_jpeg(const RecordFile& file) {
  constexpr int kQuality = 75;
  constexpr int64_t kMostOfSide = 65'500;  // of libjpeg
  if (std::max(file.rows, file.columns) > kMostOfSide) {
    throw Error(ExitCode::config,
                file.path +
                    ": no JPEG file has so many pixels: set dataset.record_length_bytes to "
                    "fewer");
  }
  std::vector<uint8_t> pixels;
  pixels.reserve(record_bytes(file));
  Noise(file.seed).write(record_bytes(file), [&](Bytes bytes) {
    pixels.insert(pixels.end(), bytes.begin(), bytes.end());
  });
  const std::unique_ptr<void, int (*)(tjhandle)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* encoded = nullptr;
  unsigned long bytes = 0;
  const int result = tjCompress2(encoder.get(), pixels.data(), static_cast<int>(file.columns), 0,
                                 static_cast<int>(file.rows), TJPF_GRAY, &encoded, &bytes,
                                 TJSAMP_GRAY, kQuality, 0);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(encoded, tjFree);
  if (result != 0) throw std::runtime_error(file.path + ": " + tjGetErrorStr2(encoder.get()));
  Output out(file.path);
  out.append({encoded, bytes});
  return out.commit();
}

}  // namespace

uint64_t write_record_file(const std::string& format, const RecordFile& file) {
  if (format == "npz") return write_npz(file);
  if (format == "npy") return write_npy(file);
  if (format == "hdf5") return write_hdf5(file);
  if (format == "tfrecord") return write_tfrecord(file);
  if (format == "jpeg") return write_jpeg(file);
  return write_indexed_binary(file);
}

}  // namespace stoker

#include "app/tools/bench/batch_probe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "io/core/system/file.h"
#include "io/decoder/pixels.h"

namespace stoker {
namespace {

constexpr int64_t kBatches = 8;

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr size_t kPrefix = kMagic.size() + 2;  // and the header's length in two bytes
constexpr size_t kAlignment = 64;

// An array in NumPy's file format (.npy, version 1.0), row by row, little-endian. type: "|u1" or
// "<f4", as NumPy writes it. The file is whole under its name, or not there.
void write_npy(const std::string& path, const std::string& type, const std::vector<int64_t>& shape,
               Bytes bytes) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   type, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  header.resize((kPrefix + header.size() + kAlignment) / kAlignment * kAlignment - kPrefix, ' ');
  header.back() = '\n';
  std::string start(kMagic);
  start += static_cast<char>(header.size() % 256);
  start += static_cast<char>(header.size() / 256);
  start += header;
  AtomicFile file(path);
  file.append({reinterpret_cast<const uint8_t*>(start.data()), start.size()});
  file.append(bytes);
  file.commit();
}

}  // namespace

bool BatchProbe::floats() const { return spec_.type == PixelType::float32; }

bool BatchProbe::see(const Batch& batch) {
  if (!batch.pixels || spec_.frame != 0) return false;
  const size_t bytes = spec_.value_bytes();
  for (size_t i = 0; i < static_cast<size_t>(batch.size); ++i) {
    const uint8_t* const values = batch.pixels.get() + i * spec_.bytes();
    if (seen_ == 0) first_.insert(first_.end(), values, values + bytes);
    add({values, bytes});
  }
  if (seen_++ == 0) first_size_ = batch.size;
  return seen_ < kBatches;
}

void BatchProbe::add(Bytes values) {
  if (floats()) {
    for (size_t at = 0; at < values.size(); at += sizeof(float), ++count_) {
      float value = 0;
      std::memcpy(&value, values.data() + at, sizeof value);
      sum_ += value;
    }
    return;
  }
  for (size_t at = 0; at < values.size(); ++at, ++count_) {
    const size_t channel = at % static_cast<size_t>(spec_.channels);
    sum_ += (values[at] - means(spec_.channels)[channel]) * scales(spec_.channels)[channel];
  }
}

std::optional<double> BatchProbe::mean() const {
  if (count_ == 0) return std::nullopt;
  return sum_ / static_cast<double>(count_);
}

std::vector<int64_t> BatchProbe::shape() const {
  if (spec_.frame != 0) return {};
  if (floats()) return {first_size_, spec_.channels, spec_.height, spec_.width};
  return {first_size_, spec_.height, spec_.width, spec_.channels};
}

std::string BatchProbe::layout() const {
  if (spec_.frame != 0) return "frames";
  return floats() ? "NCHW float32" : "NHWC uint8";
}

void BatchProbe::dump(const std::string& path) const {
  write_npy(path, floats() ? "<f4" : "|u1", shape(), first_);
}

}  // namespace stoker

#include "io/loader/lmdbio/database/datum.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/core/error.h"
#include "io/core/wire/protobuf.h"

namespace stoker {
namespace {

enum Wire : uint64_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };
constexpr uint32_t kData = 4, kLabel = 5, kFloatData = 6, kEncoded = 7;

[[noreturn]] void no_datum(const char* why) {
  throw BadSample(BadReason::corrupt, fmt::format("it is no Datum: {}", why));
}

// Thrown where the walk comes to bytes that are not known.
struct Unknown {};

// Reads protobuf's wire format in a value whose ends are known.
class DatumReader {
 public:
  explicit DatumReader(const DatumEnds& value) : value_(value) {}

  bool at_end() const { return offset_ == value_.bytes; }
  uint64_t offset() const { return offset_; }
  uint64_t varint() {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = next();
      result |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return result;
    }
    no_datum("a number has no end");
  }
  void skip(uint64_t bytes) {
    if (bytes > value_.bytes - offset_) no_datum("a field ends behind its end");
    offset_ += bytes;
  }

 private:
  uint8_t next() {
    if (at_end()) no_datum("it ends in the middle of a field");
    const uint64_t offset = offset_++;
    if (offset < value_.head.size()) return value_.head[offset];
    const uint64_t tail = value_.bytes - value_.tail.size();
    if (offset < tail) throw Unknown();
    return value_.tail[offset - tail];
  }

  const DatumEnds& value_;
  uint64_t offset_ = 0;
};

void read_number(Datum& datum, uint64_t field, uint64_t number) {
  // int32 in the message: negative ones have all 64 bits.
  const int64_t value = static_cast<int32_t>(static_cast<uint32_t>(number));
  if (field == 1) datum.channels = value;
  if (field == 2) datum.height = value;
  if (field == 3) datum.width = value;
  if (field == kLabel) datum.label = value;
  if (field == kEncoded) datum.encoded = number != 0;
}

void read_field(DatumReader& in, Datum& datum) {
  const uint64_t tag = in.varint();
  const uint64_t field = tag >> 3;
  if (field == kFloatData) {
    datum.floats = true;
    return;
  }
  switch (tag & 7) {
    case kVarint:
      return read_number(datum, field, in.varint());
    case kFixed64:
      return in.skip(8);
    case kFixed32:
      return in.skip(4);
    case kLength: {
      const uint64_t bytes = in.varint();
      if (field == kData) {
        datum.data_offset = in.offset();
        datum.data_bytes = bytes;
      }
      return in.skip(bytes);
    }
    default:
      no_datum("a field is of no known type");
  }
}

// Planes of BGR, or of one channel, to rows of interleaved RGB.
Buffer interleaved(Bytes planes, uint64_t channels) {
  const size_t pixels = planes.size() / channels;
  Buffer result;
  uint8_t* const out = result.resize(pixels * 3);
  const uint8_t* const blue = planes.data();
  const uint8_t* const green = channels == 1 ? blue : blue + pixels;
  const uint8_t* const red = channels == 1 ? blue : green + pixels;
  for (size_t i = 0; i < pixels; ++i) {
    out[3 * i] = red[i];
    out[3 * i + 1] = green[i];
    out[3 * i + 2] = blue[i];
  }
  return result;
}

}  // namespace

bool begins_as_datum(Bytes value) {
  const auto is_digit = [](uint8_t byte) { return byte >= '0' && byte <= '9'; };
  if (std::ranges::all_of(value, is_digit)) return false;
  switch (value[0]) {
    case 1 << 3 | kVarint:
    case 2 << 3 | kVarint:
    case 3 << 3 | kVarint:
    case kData << 3 | kLength:
    case kLabel << 3 | kVarint:
    case kFloatData << 3 | kLength:
    case kFloatData << 3 | kFixed32:
    case kEncoded << 3 | kVarint:
      return true;
    default:
      return false;
  }
}

std::optional<Datum> read_datum(const DatumEnds& value) {
  Datum datum;
  DatumReader in(value);
  try {
    while (!in.at_end() && !datum.floats) read_field(in, datum);
  } catch (const Unknown&) {
    return std::nullopt;
  }
  return datum;
}

Bytes datum_image(Buffer& value) {
  const Datum datum = read_datum(value.bytes());
  if (datum.floats) {
    throw BadSample(BadReason::unsupported, "its pixels are floats (float_data)");
  }
  const Bytes data = value.bytes().subspan(datum.data_offset, datum.data_bytes);
  if (datum.encoded) return data;
  if (datum.channels != 3 && datum.channels != 1) {
    throw BadSample(BadReason::unsupported,
                    fmt::format("its pixels have {} channels, not 3 or 1", datum.channels));
  }
  constexpr int64_t kMostSide = 65535;
  const bool sides =
      datum.height > 0 && datum.height <= kMostSide && datum.width > 0 && datum.width <= kMostSide;
  const auto pixels = sides ? static_cast<uint64_t>(datum.height * datum.width) : 0;
  const auto channels = static_cast<uint64_t>(datum.channels);
  if (!sides || data.size() != pixels * channels) {
    throw BadSample(BadReason::corrupt,
                    fmt::format("it has {} bytes of pixels, and says {} x {} x {}", data.size(),
                                datum.channels, datum.height, datum.width));
  }
  value = interleaved(data, channels);
  return value.bytes();
}

std::string pixel_datum(Bytes rows, const SampleSpec& spec, int32_t label) {
  const auto channels = static_cast<size_t>(spec.channels);
  const size_t plane = rows.size() / channels;
  std::string planes(rows.size(), '\0');
  for (size_t channel = 0; channel < channels; ++channel) {
    // Blue comes first in the Datum, and last in a row.
    char* const out = planes.data() + (channels - 1 - channel) * plane;
    for (size_t i = 0; i < plane; ++i) out[i] = static_cast<char>(rows[i * channels + channel]);
  }
  std::string datum;
  for (const auto& [field, number] :
       {std::pair{1u, spec.channels}, {2u, spec.height}, {3u, spec.width}}) {
    datum += wire_number(field, WireType::varint, static_cast<uint64_t>(number));
  }
  datum += wire_bytes(kData, planes);
  return datum + wire_number(kLabel, WireType::varint, static_cast<uint64_t>(int64_t{label}));
}

std::string encoded_datum(Bytes image, int32_t label) {
  return wire_bytes(kData, {reinterpret_cast<const char*>(image.data()), image.size()}) +
         wire_number(kLabel, WireType::varint, static_cast<uint64_t>(int64_t{label})) +
         wire_number(kEncoded, WireType::varint, 1);
}

}  // namespace stoker

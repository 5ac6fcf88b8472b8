#include "app/tools/checkpoint/element_values.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>

#include "io/core/error.h"

namespace stoker {
namespace {

template <class T>
void plain(Bytes bytes, std::vector<long double>& values) {
  values.reserve(bytes.size() / sizeof(T));
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, &bytes[at], sizeof(T));
    values.push_back(static_cast<long double>(value));
  }
}

double half(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double value = 0;
  if (exponent == 0x1f) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 0x400, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// The upper half of a float.
double brain(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

template <double (*convert)(uint16_t)>
void halves(Bytes bytes, std::vector<long double>& values) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint16_t)) {
    uint16_t bits = 0;
    std::memcpy(&bits, &bytes[at], sizeof(bits));
    values.push_back(convert(bits));
  }
}

}  // namespace

static_assert(std::numeric_limits<long double>::digits >= 64, "every whole number is exact");

void element_values(const std::string& dtype, Bytes bytes, std::vector<long double>& values) {
  using Convert = void (*)(Bytes, std::vector<long double>&);
  static const std::map<std::string, Convert> known = {
      {"F64", plain<double>},  {"F32", plain<float>},   {"F16", halves<half>},
      {"BF16", halves<brain>}, {"I64", plain<int64_t>}, {"I32", plain<int32_t>},
      {"I16", plain<int16_t>}, {"I8", plain<int8_t>},   {"U8", plain<uint8_t>},
      {"BOOL", plain<uint8_t>}};
  const auto found = known.find(dtype);
  if (found == known.end()) throw Error(ExitCode::bug, "elements of type " + dtype);
  values.clear();
  found->second(bytes, values);
}

}  // namespace stoker

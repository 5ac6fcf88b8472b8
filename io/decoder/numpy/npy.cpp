#include "io/decoder/numpy/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "io/core/config/config.h"
#include "io/core/error.h"

namespace stoker {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kMagic = "\x93NUMPY"sv;
constexpr size_t kFirst = 10;  // bytes before the header in version 1

[[noreturn]] void fail_corrupt(const std::string& what) {
  throw BadSample(BadReason::corrupt, "its NumPy header " + what);
}

// What follows 'name': in the header, up to its end. Empty: it is not there.
std::string_view behind_key(std::string_view header, std::string_view name) {
  for (const char quote : {'\'', '"'}) {
    const std::string key = fmt::format("{0}{1}{0}", quote, name);
    const size_t at = header.find(key);
    if (at == header.npos) continue;
    const size_t value = header.find_first_not_of(": ", at + key.size());
    return value == header.npos ? std::string_view{} : header.substr(value);
  }
  return {};
}

// "|u1", "<f4", as numpy.dtype.str; its bytes per number.
struct Type {
  std::string name;
  uint64_t bytes = 0;
};

Type type_of(std::string_view text) {
  if (text.empty()) fail_corrupt("names no type (descr)");
  const char quote = text.front();
  if (quote != '\'' && quote != '"') {
    throw BadSample(BadReason::unsupported, "its NumPy array holds records, and not numbers");
  }
  const size_t end = text.find(quote, 1);
  const std::string_view descr = text.substr(1, end == text.npos ? 0 : end - 1);
  constexpr std::string_view kOrders = "<|=>";
  if (descr.size() < 2 || kOrders.find(descr[0]) == kOrders.npos) {
    fail_corrupt("names no type that is known");
  }
  uint64_t bytes = 0;
  const bool number = parse_number(descr.substr(2), bytes);
  const bool one = bytes == 1, right = one || bytes == 2 || bytes == 4 || bytes == 8;
  const bool known = (descr[1] == 'u' || descr[1] == 'i' || (descr[1] == 'f' && !one) ||
                      (descr[1] == 'b' && one)) &&
                     right;
  if (!number || !known || (descr[0] == '>' && !one)) {
    throw BadSample(BadReason::unsupported,
                    fmt::format("its NumPy array has values of type '{}', and has to have whole or "
                                "floating-point numbers, little-endian",
                                descr));
  }
  if (descr[1] == 'b') return {"bool", 1};
  return {fmt::format("{}{}",
                      descr[1] == 'u'   ? "uint"
                      : descr[1] == 'i' ? "int"
                                        : "float",
                      8 * bytes),
          bytes};
}

std::vector<int64_t> shape_of(std::string_view text) {
  const size_t end = text.find(')');
  if (!text.starts_with('(') || end == text.npos) fail_corrupt("has no shape");
  std::vector<int64_t> shape;
  text = text.substr(1, end - 1);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t first = word.find_first_not_of(' ');
    if (first == word.npos) continue;  // behind the comma of (3,)
    word = word.substr(first, word.find_last_not_of(" L") + 1 - first);
    int64_t length = 0;
    if (!parse_number(word, length) || length < 0) fail_corrupt("has no shape of whole numbers");
    shape.push_back(length);
  }
  return shape;
}

// Nothing: no file is so large.
std::optional<uint64_t> bytes_of(const std::vector<int64_t>& shape, uint64_t each) {
  uint64_t bytes = each;
  for (const int64_t length : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(length), &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

bool is_npy(Bytes file) {
  return file.size() >= kFirst &&
         std::string_view(reinterpret_cast<const char*>(file.data()), kMagic.size()) == kMagic;
}

NpyArray parse_npy(Bytes file) {
  const int version = file[6];
  if (version < 1 || version > 3) {
    throw BadSample(BadReason::unsupported,
                    fmt::format("its NumPy format has version {}", version));
  }
  const size_t begin = version == 1 ? kFirst : kFirst + 2;
  if (file.size() < begin) throw BadSample(BadReason::truncated, "it ends in its NumPy header");
  size_t length = file[8] + (size_t{file[9]} << 8);
  if (version > 1) length += (size_t{file[10]} << 16) + (size_t{file[11]} << 24);
  if (length > file.size() - begin) {
    throw BadSample(BadReason::truncated, "it ends in its NumPy header");
  }
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + begin, length);
  NpyArray array;
  const Type type = type_of(behind_key(header, "descr"));
  array.stored = {type.name, shape_of(behind_key(header, "shape"))};
  const std::string_view order = behind_key(header, "fortran_order");
  if (!order.starts_with("True") && !order.starts_with("False")) fail_corrupt("says no order");
  array.fortran = order.starts_with("True");
  array.values = file.subspan(begin + length);
  const std::optional<uint64_t> bytes = bytes_of(array.stored.shape, type.bytes);
  if (!bytes || *bytes > array.values.size()) {
    throw BadSample(BadReason::truncated,
                    fmt::format("{} bytes of values where its NumPy array, {}, has more",
                                array.values.size(), text_of(array.stored)));
  }
  array.values = array.values.first(*bytes);
  return array;
}

std::string npy_head(const StoredArray& array) {
  const std::string descr = array.type == "uint8" ? "|u1" : array.type == "int64" ? "<i8" : "<f4";
  std::string shape;
  for (const int64_t length : array.shape) shape += fmt::format("{}, ", length);
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.pop_back();
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  const size_t whole = (kFirst + header.size() + 1 + 63) / 64 * 64;
  header.resize(whole - kFirst - 1, ' ');
  header += '\n';
  std::string head(kMagic);
  head +=
      {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return head + header;
}

}  // namespace stoker

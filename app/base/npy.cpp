#include "app/base/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <regex>

#include "io/core/error.h"
#include "io/core/file.h"

namespace stoker {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr size_t kPrefix = kMagic.size() + 2;  // and the header's length in two bytes
constexpr size_t kAlignment = 64;

int64_t product(const std::vector<int64_t>& shape) {
  int64_t result = 1;
  for (const int64_t length : shape) result *= length;
  return result;
}

}  // namespace

int64_t NpyArray::size() const { return product(shape); }

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

NpyArray read_npy(const std::string& path) {
  const auto fail = [&](const std::string& what) {
    return Error(ExitCode::environment,
                 fmt::format("{}: {}; expected a .npy file of version 1.0 with numbers in C order",
                             path, what));
  };
  const auto text = read_if_there(path);
  if (!text) throw fail("is not there");
  if (!text->starts_with(kMagic) || text->size() < kPrefix) throw fail("is none");
  const size_t length = static_cast<uint8_t>((*text)[kMagic.size()]) +
                        size_t{256} * static_cast<uint8_t>((*text)[kMagic.size() + 1]);
  if (text->size() < kPrefix + length) throw fail("ends inside its header");
  const std::string header = text->substr(kPrefix, length);
  static const std::regex pattern(
      R"('descr': '([<|][uf]([1248]))', 'fortran_order': False, 'shape': \(([0-9, ]*)\))");
  std::smatch match;
  if (!std::regex_search(header, match, pattern)) throw fail("holds something else");
  NpyArray array;
  array.type = match[1];
  const std::string shape = match[3];
  for (const char* at = shape.data(); at < shape.data() + shape.size();) {
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(at, shape.data() + shape.size(), number);
    if (error == std::errc()) array.shape.push_back(number);
    at = error == std::errc() ? stop : at + 1;
  }
  const size_t expected =
      static_cast<size_t>(array.size()) * static_cast<size_t>(std::stoi(match[2]));
  if (text->size() - kPrefix - length != expected) throw fail("has another length than its header");
  array.bytes.assign(text->begin() + static_cast<std::ptrdiff_t>(kPrefix + length), text->end());
  return array;
}

}  // namespace stoker

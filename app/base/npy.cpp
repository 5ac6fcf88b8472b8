#include "app/base/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/core/file.h"

namespace stoker {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr size_t kPrefix = kMagic.size() + 2;  // and the header's length in two bytes
constexpr size_t kAlignment = 64;

}  // namespace

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

}  // namespace stoker

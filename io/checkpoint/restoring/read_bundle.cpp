#include "io/checkpoint/restoring/read_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "io/checkpoint/sets/manifest.h"
#include "io/core/crc32c.h"
#include "io/core/error.h"

namespace stoker {
namespace {

// Texts are read as a whole.
constexpr uint64_t kMostTextBytes = 1ull << 30;

uint64_t elements(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(size), &count)) {
      throw Error(ExitCode::storage, "an impossible shape");
    }
  }
  return count;
}

}  // namespace

TensorBundle BundleFiles::index() const {
  const std::string file = prefix_ + ".index";
  const std::string bytes = from_.read_text(file, kMaxIndexBytes);
  try {
    return parse_bundle_index({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  } catch (const Error& error) {
    throw Error(error.code(), from_.full(file) + ": " + error.what());
  }
}

std::string BundleFiles::damage(const BundleTensor& tensor, uint64_t files) const {
  const std::string file = bundle_data_name(prefix_, tensor.file, files);
  const auto wrong = [&](const std::string& what) {
    return fmt::format("{}: tensor {}: {}", from_.full(file), tensor.name, what);
  };
  if (tensor.sliced) return "";
  if (!from_.exists(file)) return wrong("the file is missing");
  try {
    const uint32_t found = sum(tensor, file);
    if (found == tensor.sum) return "";
    return wrong(fmt::format("damaged (CRC-32C {:08x}, expected {:08x})", found, tensor.sum));
  } catch (const Error& error) {
    return wrong(error.what());
  }
}

uint32_t BundleFiles::sum(const BundleTensor& tensor, const std::string& file) const {
  const bool texts = tensor.dtype == "DT_STRING";
  if (texts && tensor.bytes > kMostTextBytes) {
    throw Error(ExitCode::storage, fmt::format("{} bytes of texts are too many", tensor.bytes));
  }
  const SetFile source = from_.open(file, FileAccess::buffered);
  uint32_t sum = 0;
  std::vector<uint8_t> buffer;
  for (uint64_t done = 0; done < tensor.bytes;) {
    // Memory grows by what the file has, and not by what its index says.
    const uint64_t size = std::min(kChunkBytes, tensor.bytes - done);
    const uint64_t at = texts ? done : 0;
    buffer.resize(at + size);
    const std::span piece = std::span(buffer).subspan(at);
    source.read_at(tensor.offset + done, piece);
    sum = crc32c(piece, sum);
    done += size;
  }
  return texts ? text_sum(buffer, elements(tensor.shape)) : sum;
}

}  // namespace stoker

#include "io/dataset/formats/hdf5/chunk.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>
#include <new>

#include "io/core/error.h"

namespace stoker {
namespace {

// The lowest two bits are the first filter, the next two the second; above them the size of
// shuffle's elements.
constexpr uint64_t kFilterBits = 2;
constexpr uint64_t kElementShift = kFilterBits * kHdf5MaxFilters;
constexpr uint64_t kMaxElement = uint64_t{1} << 20;

[[noreturn]] void corrupt(const std::string& why) { throw BadSample(BadReason::corrupt, why); }

void inflate_all(Bytes stored, size_t unpacked, uint8_t* out) {
  if (stored.size() > UINT_MAX || unpacked > UINT_MAX) corrupt("its chunk is too large");
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  stream.next_in = const_cast<uint8_t*>(stored.data());  // zlib's interface is older than const
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = out;
  stream.avail_out = static_cast<uInt>(unpacked);
  const int result = ::inflate(&stream, Z_FINISH);
  const size_t left = stream.avail_out;
  ::inflateEnd(&stream);
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_STREAM_END || left != 0) corrupt("its chunk can't be inflated to its size");
}

// The bytes k of all elements lie together; bytes that are not a whole element stay at the end.
void unshuffle(Bytes in, size_t element, uint8_t* out) {
  const size_t count = in.size() / element;
  for (size_t k = 0; k < element; ++k) {
    const uint8_t* const plane = in.data() + k * count;
    for (size_t i = 0; i < count; ++i) out[i * element + k] = plane[i];
  }
  std::ranges::copy(in.subspan(count * element), out + count * element);
}

// deflate gets no more out of a byte.
constexpr uint64_t kMaxRatio = 1040;
constexpr uint64_t kMaxChunk = uint64_t{1} << 30;

}  // namespace

bool hdf5_chunk_fits(uint64_t stored, uint64_t unpacked) {
  return unpacked <= kMaxChunk && unpacked / kMaxRatio <= stored;
}

std::optional<uint64_t> hdf5_packing(std::span<const Hdf5FilterUse> filters) {
  if (filters.size() > kHdf5MaxFilters) return std::nullopt;
  uint64_t packing = 0;
  uint64_t seen = 0;
  for (size_t i = 0; i < filters.size(); ++i) {
    const auto code = static_cast<uint64_t>(filters[i].filter);
    if ((code != 1 && code != 2) || code == seen) return std::nullopt;
    seen = code;
    packing |= code << (kFilterBits * i);
    if (filters[i].filter != Hdf5Filter::shuffle) continue;
    const uint64_t element = filters[i].element_bytes;
    if (element == 0 || element > kMaxElement) return std::nullopt;
    packing |= element << kElementShift;
  }
  return packing;
}

void Hdf5Unpacker::unpack(Bytes stored, uint64_t packing, size_t unpacked, uint8_t* out) {
  const uint64_t element = packing >> kElementShift;
  const std::array<uint64_t, kHdf5MaxFilters> codes{packing & 3, packing >> kFilterBits & 3};
  // Whoever damaged an index may have made up any number.
  const bool shuffled = codes[0] == 2 || codes[1] == 2;
  if (codes[0] == 0 || codes[0] == 3 || codes[1] == 3 || codes[0] == codes[1] ||
      shuffled != (element != 0) || element > kMaxElement) {
    corrupt("its filters are unknown");
  }
  const size_t steps = codes[1] == 0 ? 1 : 2;
  for (size_t i = steps; i > 0; --i) {
    const bool last = i == 1;
    const bool deflated = codes[i - 1] == static_cast<uint64_t>(Hdf5Filter::deflate);
    const size_t size = deflated ? unpacked : stored.size();
    if (last && size != unpacked) corrupt("its chunk has another size than its shape says");
    uint8_t* const to = last ? out : between_.resize(size);
    if (deflated) {
      inflate_all(stored, size, to);
    } else {
      unshuffle(stored, element, to);
    }
    stored = {to, size};
  }
}

}  // namespace stoker

#include "io/jpeg/scan_bytes.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <bit>
#include <cstring>

#include "io/jpeg/bit_reader.h"

namespace stoker {
namespace {

constexpr size_t kStep = 32;

// Copies up to the next 0xff of at least kStep bytes, and up to kStep - 1 bytes of garbage behind
// it. Returns where that 0xff is, or, where fewer than kStep bytes are left, where it stopped.
STOKER_AVX2 const uint8_t* copy_plain(const uint8_t* from, const uint8_t* end, uint8_t*& to) {
  const __m256i marker = _mm256_set1_epi8(-1);
  while (static_cast<size_t>(end - from) >= kStep) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const auto found =
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, marker)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
    if (found != 0) {
      const int at = std::countr_zero(found);
      to += at;
      return from + at;
    }
    from += kStep;
    to += kStep;
  }
  return from;
}

}  // namespace

bool ScanBytes::assign(Bytes rest, bool restarts) {
  const std::optional<size_t> end = assign_up_to_marker(rest, restarts);
  return end && rest[*end + 1] == 0xd9;
}

std::optional<size_t> ScanBytes::assign_up_to_marker(Bytes rest, bool restarts) {
  uint8_t* const begin = buffer_.resize(rest.size() + kSlack);
  uint8_t* to = begin;
  const uint8_t* from = rest.data();
  const uint8_t* const end = from + rest.size();
  ends_.clear();
  for (;;) {
    from = copy_plain(from, end, to);
    while (from != end && *from != 0xff && end - from < static_cast<ptrdiff_t>(kStep)) {
      *to++ = *from++;
    }
    if (end - from < 2) return std::nullopt;
    const uint8_t next = from[1];
    from += 2;
    if (next == 0) {
      *to++ = 0xff;
      continue;
    }
    ends_.push_back(static_cast<size_t>(to - begin));
    if (!restarts || next != 0xd0 + (ends_.size() - 1) % 8) break;
  }
  std::memset(to, 0, kSlack);
  return static_cast<size_t>(from - rest.data()) - 2;
}

}  // namespace stoker

#endif

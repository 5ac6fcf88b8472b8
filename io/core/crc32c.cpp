#include "io/core/crc32c.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stoker {
namespace {

// A CRC is a remainder of polynomials over GF(2) whose bits stand in reverse: bit 31 is x^0.
constexpr uint32_t kPolynomial = 0x82f63b78;
constexpr uint32_t kOne = 0x80000000;
constexpr uint32_t kX8 = kOne >> 8;

// a * b modulo the polynomial.
uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t power = kOne; power != 0; power >>= 1) {
    if (a & power) product ^= b;
    b = b & 1 ? (b >> 1) ^ kPolynomial : b >> 1;
  }
  return product;
}

#if defined(__x86_64__)
// A block and the one that is fetched after it fit into 32 KiB of first-level cache.
constexpr size_t kSumBlock = size_t{12} << 10;
constexpr size_t kUnrolled = 128;
constexpr size_t kAvxBytes = 32;
// What is smaller is likely to be used soon, and had better stay in the cache.
constexpr size_t kMinSummed = size_t{256} << 10;

// Stores past the cache, which need not fetch the lines that they overwrite. Meanwhile the next
// block is fetched, so that the memory works while that one is summed: without this the two
// phases take turns, and the whole costs a third more. `to` is aligned to kAvxBytes, `bytes` is a
// multiple of kUnrolled; a fetch past the end of a buffer does nothing.
__attribute__((target("avx2"))) void stream_block(uint8_t* to, const uint8_t* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += kUnrolled) {
    _mm_prefetch(reinterpret_cast<const char*>(from) + i + kSumBlock, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(from) + i + kSumBlock + kUnrolled / 2, _MM_HINT_T0);
    const auto* source = reinterpret_cast<const __m256i*>(from + i);
    auto* target = reinterpret_cast<__m256i*>(to + i);
    const __m256i a = _mm256_loadu_si256(source), b = _mm256_loadu_si256(source + 1);
    const __m256i c = _mm256_loadu_si256(source + 2), d = _mm256_loadu_si256(source + 3);
    _mm256_stream_si256(target, a);
    _mm256_stream_si256(target + 1, b);
    _mm256_stream_si256(target + 2, c);
    _mm256_stream_si256(target + 3, d);
  }
}

// Copies as many whole blocks as `bytes` holds; returns their CRC and drops them from `bytes`.
uint32_t stream(uint8_t*& to, Bytes& bytes, uint32_t sum) {
  for (; bytes.size() >= kSumBlock; bytes = bytes.subspan(kSumBlock), to += kSumBlock) {
    sum = crc32c(bytes.first(kSumBlock), sum);
    stream_block(to, bytes.data(), kSumBlock);
  }
  _mm_sfence();
  return sum;
}
#endif

uint32_t copy_cached(uint8_t* to, Bytes bytes, uint32_t before) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return crc32c(bytes, before);
}

}  // namespace

// The first part's remainder is multiplied by x^8 for each byte that follows; the inversions at
// start and end cancel out. The power is made by squaring, a bit of the length at a time.
uint32_t crc32c_combine(uint32_t first, uint32_t second, uint64_t second_bytes) {
  uint32_t shifted = first;
  for (uint32_t square = kX8; second_bytes != 0; second_bytes >>= 1) {
    if (second_bytes & 1) shifted = multiply(shifted, square);
    square = multiply(square, square);
  }
  return shifted ^ second;
}

uint32_t copy_crc32c(uint8_t* to, Bytes bytes) {
  uint32_t sum = 0;
#if defined(__x86_64__)
  if (bytes.size() >= kMinSummed && __builtin_cpu_supports("avx2")) {
    const size_t head = -reinterpret_cast<uintptr_t>(to) % kAvxBytes;
    sum = copy_cached(to, bytes.first(head), 0);
    to += head;
    bytes = bytes.subspan(head);
    sum = stream(to, bytes, sum);
  }
#endif
  return copy_cached(to, bytes, sum);
}

}  // namespace stoker

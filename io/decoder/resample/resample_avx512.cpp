#include "io/decoder/resample/resample.h"

#if defined(__x86_64__)

#include "io/decoder/avx512.h"

namespace stoker {
namespace {

STOKER_AVX512_INLINE __m512i broadcast(uint16_t value) {
  return _mm512_set1_epi16(static_cast<short>(value));
}

// `tap_pairs` and `wider` are constants where the compiler is to make a loop of its own of it.
STOKER_AVX512_INLINE void horizontal_taps(const uint8_t* row, const Columns& columns, int tap_pairs,
                                          bool wider, uint16_t* line) {
  // Signed pixels: 128 less, which is 32768 less for the sum.
  const __m512i start = broadcast(static_cast<uint16_t>(0x8000 + columns.bias));
  const __m512i mask = broadcast(columns.mask);
  const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
  const ByteGroup* places = columns.places.data();
  const ByteGroup* weights = columns.weights.data();
  for (int64_t group = 0; group < columns.groups; ++group, line += Columns::kLineGroup) {
    const uint8_t* in = row + columns.offsets[static_cast<size_t>(group)];
    const __m512i low = _mm512_xor_si512(_mm512_loadu_si512(in), sign);
    const __m512i high = wider ? _mm512_xor_si512(_mm512_loadu_si512(in + 64), sign) : low;
    __m512i sum = start;
    for (int pair = 0; pair < tap_pairs; ++pair, ++places, ++weights) {
      const __m512i place = _mm512_load_si512(places->bytes);
      const __m512i bytes =
          wider ? _mm512_permutex2var_epi8(low, place, high) : _mm512_permutexvar_epi8(place, low);
      sum = _mm512_add_epi16(sum, _mm512_maddubs_epi16(_mm512_load_si512(weights->bytes), bytes));
    }
    _mm512_store_si512(line, _mm512_and_si512(sum, mask));
  }
}

STOKER_AVX512 void horizontal(const uint8_t* row, const Columns& columns, uint16_t* line) {
  const int pairs = columns.tap_pairs;
  if (!columns.is_wide()) return avx2_resampling().horizontal(row, columns, line);
  if (columns.form == Columns::Form::wider) return horizontal_taps(row, columns, pairs, true, line);
  if (pairs == 1) return horizontal_taps(row, columns, 1, false, line);
  if (pairs == 2) return horizontal_taps(row, columns, 2, false, line);
  horizontal_taps(row, columns, pairs, false, line);
}

STOKER_AVX512_INLINE __m512i vertical_group(const uint16_t* const* lines, const uint16_t* weights,
                                            int taps, int64_t at) {
  __m512i sum = broadcast(static_cast<uint16_t>(128 + tap_bias(taps)));
  for (int t = 0; t < taps; ++t) {
    const __m512i values = _mm512_load_si512(lines[t] + at);
    sum = _mm512_add_epi16(sum, _mm512_mulhi_epu16(values, broadcast(weights[t])));
  }
  return sum;
}

// Even bytes first, then the odd ones.
struct Untangled {
  alignas(64) uint8_t place[64];
};

constexpr Untangled untangled() {
  Untangled result{};
  for (int i = 0; i < 64; ++i) result.place[i] = static_cast<uint8_t>(2 * (i % 32) + i / 32);
  return result;
}

constexpr Untangled kUntangled = untangled();

// The first `count` of 64 bytes. A stream of half a cache line each, as every second row begins in
// the middle of one.
STOKER_AVX512_INLINE void store_bytes(uint8_t* out, __m512i bytes, int64_t count, bool streamed) {
  const __m256i halves[2] = {_mm512_castsi512_si256(bytes), _mm512_extracti64x4_epi64(bytes, 1)};
  if (streamed && count >= 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out), halves[0]);
    if (count >= 64) _mm256_stream_si256(reinterpret_cast<__m256i*>(out + 32), halves[1]);
    if (count == 32 || count >= 64) return;
  }
  _mm512_mask_storeu_epi8(out, count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1, bytes);
}

STOKER_AVX512_INLINE void vertical_taps(const uint16_t* const* lines, const uint16_t* weights,
                                        int taps, int64_t values, uint8_t* out, Store store) {
  constexpr __mmask64 kOddBytes = 0xaaaaaaaaaaaaaaaa;
  const bool streamed = store == Store::streamed && reinterpret_cast<uintptr_t>(out) % 32 == 0;
  const __m512i order = _mm512_load_si512(kUntangled.place);
  for (int64_t at = 0; at < values; at += 64) {
    // A line may have an odd number of groups.
    const int64_t second = values - at > Columns::kLineGroup ? at + Columns::kLineGroup : at;
    const __m512i sum0 = vertical_group(lines, weights, taps, at);
    const __m512i sum1 = vertical_group(lines, weights, taps, second);
    const __m512i tangled = _mm512_mask_mov_epi8(_mm512_srli_epi16(sum0, 8), kOddBytes, sum1);
    store_bytes(out + at, _mm512_permutexvar_epi8(order, tangled), values - at, streamed);
  }
}

STOKER_AVX512 void vertical(const uint16_t* const* lines, const uint16_t* weights, int taps,
                            const Columns& columns, uint8_t* out, Store store) {
  if (taps > kFewTaps || !columns.is_wide()) {
    return avx2_resampling().vertical(lines, weights, taps, columns, out, store);
  }
  const int64_t values = 3 * columns.width();
  if (taps == 2) return vertical_taps(lines, weights, 2, values, out, store);
  if (taps == 3) return vertical_taps(lines, weights, 3, values, out, store);
  vertical_taps(lines, weights, taps, values, out, store);
}

}  // namespace

Resampling avx512_resampling() { return {horizontal, vertical, true}; }

}  // namespace stoker

#endif

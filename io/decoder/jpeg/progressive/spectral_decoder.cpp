#include "io/decoder/jpeg/progressive/spectral_decoder.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "io/decoder/jpeg/progressive/refinement.h"

namespace stoker {
namespace {

// The `count` next bits as a number, 0 to 63.
STOKER_AVX2_INLINE uint64_t peek(const BitReader& bits, uint64_t skipped, uint32_t count) {
  return (bits.peek(64) << skipped) >> 1 >> (63 - count);
}

// The value of the symbol whose further bits `bits` are about to be read (T.81, F.2.2.1). 0 where
// there are none.
STOKER_AVX2_INLINE int value_of(const BitReader& bits, uint32_t entry) {
  const uint64_t next = bits.peek(64) << SymbolTable::code(entry);
  const uint32_t size = SymbolTable::more(entry);
  const auto value = static_cast<int>(next >> 1 >> (63 - size));
  const auto negative = static_cast<int>(~static_cast<int64_t>(next) >> 63);
  return value + (negative & (1 - (1 << size)));
}

// 0: what follows is no symbol that an encoder writes.
STOKER_AVX2_INLINE uint32_t next_symbol(const BitReader& bits, const SymbolTable& table) {
  const uint32_t entry = table[bits.peek(SymbolTable::kBits)];
  if (entry != 0) [[likely]]
    return entry;
  return table.find(static_cast<uint32_t>(bits.peek(16)));
}

// How many blocks end together, the one with the symbol among them.
STOKER_AVX2_INLINE uint32_t run_of(const BitReader& bits, uint32_t entry) {
  const uint32_t more = SymbolTable::more(entry);
  return (1u << more) + static_cast<uint32_t>(peek(bits, SymbolTable::code(entry), more));
}

// With it, a value of most bits keeps away from the ends of 16 bits.
constexpr int kMaxLow = 4;

// Which of 32 coefficients are not 0; the first one has the highest bit.
STOKER_AVX2_INLINE uint32_t nonzero_of(const int16_t* values) {
  const auto* const at = reinterpret_cast<const __m256i*>(values);
  // By lanes: second 0 to 7, first 0 to 7, second 8 to 15, first 8 to 15.
  const __m256i bytes = _mm256_packs_epi16(_mm256_load_si256(at + 1), _mm256_load_si256(at));
  const __m256i reversed =
      _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                     15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)));
  const __m256i all = _mm256_permute4x64_epi64(reversed, _MM_SHUFFLE(0, 2, 1, 3));
  const __m256i zero = _mm256_cmpeq_epi8(all, _mm256_setzero_si256());
  return ~static_cast<uint32_t>(_mm256_movemask_epi8(zero));
}

// Coefficients of a block that are known for the first time; the last one is at the end of `band`,
// which has 0 before the first one.
STOKER_AVX2 void take_band(const int16_t* band, const ProgressiveScan& scan, int16_t* values,
                           uint64_t& nonzero) {
  const int before = 63 - scan.last;
  for (int k = scan.first; k <= scan.last; ++k) {
    values[k] = static_cast<int16_t>(band[before + k] * (1 << scan.low));
  }
  const uint64_t mask = uint64_t{nonzero_of(band)} << 32 | nonzero_of(band + 32);
  nonzero |= mask << before;
}

}  // namespace

bool SpectralDecoder::assign_tables(const JpegFrame& frame) {
  if (scan_.of_dc() && scan_.refines()) return true;
  if (!scan_.of_dc() && !scan_.refines()) return assign_band(frame.ac_tables[scan_.ac_table[0]]);
  for (size_t i = 0; i < scan_.count; ++i) {
    const Bytes definition =
        scan_.of_dc() ? frame.dc_tables[scan_.dc_table[i]] : frame.ac_tables[scan_.ac_table[i]];
    const SymbolKind kind = scan_.of_dc() ? SymbolKind::difference : SymbolKind::refinement;
    if (!tables_[i].assign(definition, kind, scan_.low)) return false;
  }
  return true;
}

bool SpectralDecoder::assign_band(Bytes definition) {
  if (scan_.low > kMaxLow || definition.empty() || !band_tables_.assign({}, definition)) {
    return false;
  }
  band_.set_band(band_tables_, static_cast<size_t>(scan_.last - scan_.first + 1));
  return true;
}

bool SpectralDecoder::decode(const JpegFrame& frame, const ProgressiveScan& scan,
                             const ScanBytes& bytes, size_t bottom,
                             const Coefficients& coefficients) {
  scan_ = scan;
  if (!assign_tables(frame)) return false;
  bytes_ = &bytes;
  bits_.start(bytes.data());
  segment_ = 0;
  until_restart_ = interval_ = frame.restart_interval;
  run_ = 0;
  predictions_ = {};
  const bool done = scan.count == 1
                        ? decode_component(frame, coefficients.plane(scan.component[0]), bottom)
                        : decode_mcus(frame, coefficients, bottom);
  if (!done) return false;
  if (bottom < mcu_grid(frame).rows) return within_segment();
  return at_segment_end() && in_last_segment();
}

bool SpectralDecoder::restart_where_due() {
  if (interval_ == 0 || until_restart_ != 0) return true;
  if (!at_segment_end() || in_last_segment()) return false;
  bits_.start(bytes_->data() + bytes_->ends()[segment_]);
  ++segment_;
  predictions_ = {};
  until_restart_ = interval_;
  return true;
}

bool SpectralDecoder::decode_component(const JpegFrame& frame, const CoefficientPlane& plane,
                                       size_t bottom) {
  const McuSize mcu = scan_.component[0] == 0 ? mcu_size(frame.sampling) : McuSize{};
  const size_t rows = std::min(bottom * mcu.height / 8, plane.rows);
  for (size_t y = 0; y < rows; ++y) {
    for (size_t x = 0; x < plane.columns;) {
      if (!restart_where_due() || !within_segment()) return false;
      size_t count = std::min(plane.columns - x, kBatch);
      if (interval_ != 0) {
        count = std::min(count, until_restart_);
        until_restart_ -= count;
      }
      const size_t at = y * plane.stride + x;
      if (!decode_blocks({plane.values + at * 64, plane.nonzero + at, count})) return false;
      x += count;
    }
  }
  return true;
}

bool SpectralDecoder::decode_blocks(const Blocks& blocks) {
  if (!scan_.of_dc()) return scan_.refines() ? refine_ac(blocks) : first_ac(blocks);
  for (size_t i = 0; i < blocks.count; ++i) {
    int16_t* const value = blocks.values + i * 64;
    if (!(scan_.refines() ? refine_dc(value) : first_dc(value, 0))) return false;
  }
  return true;
}

bool SpectralDecoder::decode_mcus(const JpegFrame& frame, const Coefficients& coefficients,
                                  size_t bottom) {
  const McuGrid grid = mcu_grid(frame);
  for (size_t y = 0; y < bottom; ++y) {
    for (size_t x = 0; x < grid.columns; ++x) {
      if (!restart_where_due() || !within_segment()) return false;
      if (interval_ != 0) --until_restart_;
      for (size_t i = 0; i < scan_.count; ++i) {
        const McuSize mcu = scan_.component[i] == 0 ? mcu_size(frame.sampling) : McuSize{};
        const CoefficientPlane& plane = coefficients.plane(scan_.component[i]);
        const size_t width = mcu.width / 8, height = mcu.height / 8;
        for (size_t block = 0; block < width * height; ++block) {
          const size_t row = y * height + block / width, column = x * width + block % width;
          int16_t* const value = plane.values + (row * plane.stride + column) * 64;
          if (!(scan_.refines() ? refine_dc(value) : first_dc(value, i))) return false;
        }
      }
    }
  }
  return true;
}

STOKER_AVX2 bool SpectralDecoder::first_dc(int16_t* value, size_t component) {
  bits_.refill();
  const uint32_t entry = next_symbol(bits_, tables_[component]);
  if (entry == 0) return false;
  int& prediction = predictions_[component];
  prediction += value_of(bits_, entry);
  bits_.skip(SymbolTable::total(entry));
  const int scaled = prediction * (1 << scan_.low);
  *value = static_cast<int16_t>(scaled);
  return *value == scaled;
}

STOKER_AVX2 bool SpectralDecoder::refine_dc(int16_t* value) {
  bits_.refill();
  *value = static_cast<int16_t>(*value | static_cast<int>(bits_.peek(1)) << scan_.low);
  bits_.skip(1);
  return true;
}

bool SpectralDecoder::first_ac(const Blocks& blocks) {
  band_.begin(bits_, blocks.count);
  band_.run();
  if (band_.state() == BlockDecoder::State::failed) return false;
  bits_ = band_.bits();
  run_ = static_cast<uint32_t>(band_.run_left());
  for (size_t i = 0; i < blocks.count; ++i) {
    take_band(band_.values(i), scan_, blocks.values + i * 64, blocks.nonzero[i]);
  }
  return true;
}

STOKER_REFINE bool SpectralDecoder::refine_ac(const Blocks& blocks) {
  const SymbolTable& table = tables_[0];
  // Positions of the band.
  const uint64_t band = ~uint64_t{0} >> scan_.first & ~uint64_t{0} << (63 - scan_.last);
  BitReader bits = bits_;
  for (size_t i = 0; i < blocks.count; ++i) {
    const uint64_t nonzero = blocks.nonzero[i], zeros = band & ~nonzero;
    uint64_t known = band & nonzero;
    // Of the zeros that are left but for one.
    int64_t left = _mm_popcnt_u64(zeros) - 1;
    uint64_t rest = band;
    Refinement refinement;
    bits.refill();
    while (run_ == 0 && rest != 0) {
      // The bits of one symbol are there, but for a run of blocks.
      const uint32_t entry = next_symbol(bits, table);
      if (entry == 0) return false;
      if ((entry & SymbolTable::kEnd) != 0) {
        bits.refill();
        run_ = run_of(bits, entry);
        bits.skip(SymbolTable::total(entry));
        break;
      }
      left -= SymbolTable::run(entry);
      if (left < 0) return false;
      const uint64_t at = _pdep_u64(uint64_t{1} << left, zeros);
      --left;
      const uint64_t present = SymbolTable::present(entry);
      refinement.fresh |= at & (0 - present);
      refinement.negative |= at & (0 - (present & ~peek(bits, SymbolTable::code(entry), 1)));
      bits.skip(SymbolTable::total(entry));
      bits.refill();
      // Everything before the place that was found.
      refinement.correct(bits, known & (0 - at));
      rest &= at - 1;
      known &= at - 1;
    }
    if (run_ != 0) {
      bits.refill();
      refinement.correct(bits, known);
      --run_;
    }
    if (refinement.changes()) {
      refinement.apply(blocks.values + i * 64, scan_.low);
      blocks.nonzero[i] = nonzero | refinement.fresh;
    }
  }
  bits_ = bits;
  return true;
}

}  // namespace stoker

#endif

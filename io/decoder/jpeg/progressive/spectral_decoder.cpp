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

// Refills. 0: what follows is no symbol that an encoder writes.
STOKER_AVX2_INLINE uint32_t next_symbol(BitReader& bits, const SymbolTable& table) {
  bits.refill();
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

}  // namespace

bool SpectralDecoder::assign_tables(const JpegFrame& frame) {
  if (scan_.of_dc() && scan_.refines()) return true;
  for (size_t i = 0; i < scan_.count; ++i) {
    const Bytes definition =
        scan_.of_dc() ? frame.dc_tables[scan_.dc_table[i]] : frame.ac_tables[scan_.ac_table[i]];
    const SymbolKind kind = scan_.of_dc()     ? SymbolKind::difference
                            : scan_.refines() ? SymbolKind::refinement
                                              : SymbolKind::first;
    if (!tables_[i].assign(definition, kind, scan_.low)) return false;
  }
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

STOKER_AVX2 bool SpectralDecoder::first_ac(const Blocks& blocks) {
  const SymbolTable& table = tables_[0];
  const auto last = static_cast<uint32_t>(scan_.last);
  BitReader bits = bits_;
  for (size_t i = 0; i < blocks.count; ++i) {
    if (run_ != 0) {
      const auto skipped = std::min<size_t>(run_, blocks.count - i);
      run_ -= static_cast<uint32_t>(skipped);
      i += skipped - 1;
      continue;
    }
    int16_t* const values = blocks.values + i * 64;
    uint64_t nonzero = 0;
    for (auto k = static_cast<uint32_t>(scan_.first); k <= last; ++k) {
      const uint32_t entry = next_symbol(bits, table);
      if (entry == 0) return false;
      if ((entry & SymbolTable::kEnd) != 0) {
        run_ = run_of(bits, entry) - 1;
        bits.skip(SymbolTable::total(entry));
        break;
      }
      k += SymbolTable::run(entry);
      if (k > last) return false;
      // Sixteen zeros: a value of 0, which is there already.
      values[k] = static_cast<int16_t>(value_of(bits, entry) * (1 << scan_.low));
      nonzero |= uint64_t{SymbolTable::present(entry)} << (63 - k);
      bits.skip(SymbolTable::total(entry));
    }
    blocks.nonzero[i] |= nonzero;
  }
  bits_ = bits;
  return true;
}

STOKER_REFINE bool SpectralDecoder::refine_ac(const Blocks& blocks) {
  const SymbolTable& table = tables_[0];
  // Positions of the band.
  const uint64_t band = ~uint64_t{0} >> scan_.first & ~uint64_t{0} << (63 - scan_.last);
  BitReader bits = bits_;
  for (size_t i = 0; i < blocks.count; ++i) {
    const uint64_t nonzero = blocks.nonzero[i];
    uint64_t rest = band;
    Refinement refinement;
    while (run_ == 0 && rest != 0) {
      const uint32_t entry = next_symbol(bits, table);
      if (entry == 0) return false;
      if ((entry & SymbolTable::kEnd) != 0) {
        run_ = run_of(bits, entry);
        bits.skip(SymbolTable::total(entry));
        break;
      }
      const uint64_t zeros = rest & ~nonzero;
      const auto count = static_cast<uint32_t>(_mm_popcnt_u64(zeros));
      if (SymbolTable::run(entry) >= count) return false;
      const uint64_t at = _pdep_u64(uint64_t{1} << (count - 1 - SymbolTable::run(entry)), zeros);
      const uint64_t present = SymbolTable::present(entry);
      refinement.fresh |= at & (0 - present);
      refinement.negative |= at & (0 - (present & ~peek(bits, SymbolTable::code(entry), 1)));
      bits.skip(SymbolTable::total(entry));
      // Everything before the place that was found.
      refinement.correct(bits, rest & nonzero & (0 - at));
      rest &= at - 1;
    }
    if (run_ != 0) {
      bits.refill();
      refinement.correct(bits, rest & nonzero);
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

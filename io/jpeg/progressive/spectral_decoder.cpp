#include "io/jpeg/progressive/spectral_decoder.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstdlib>

namespace stoker {
namespace {

// The value of the symbol whose further bits `bits` are about to be read (T.81, F.2.2.1). It is 0
// if the symbol has no further bits.
STOKER_AVX2_INLINE int value_of(const BitReader& bits, uint32_t entry) {
  const uint64_t next = bits.peek(64) << SymbolTable::code(entry);
  const uint32_t size = SymbolTable::more(entry);
  const auto value = static_cast<int>(next >> 1 >> (63 - size));
  const auto negative = static_cast<int>(~static_cast<int64_t>(next) >> 63);
  return value + (negative & (1 - (1 << size)));
}

// The most bits of a value that keeps away from the ends of 16 bits.
constexpr int kMaxValueBits = 14;

// The values of a block, if `low` bits are put behind them. Mostly there is nothing to look at.
bool fits(const int16_t* values, int low) {
  const int bits = kMaxValueBits - low;
  return bits >= static_cast<int>(kMaxAcSize) ||
         std::all_of(values, values + 64, [&](int value) { return std::abs(value) < 1 << bits; });
}

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
  const auto factor = static_cast<int16_t>(1 << scan.low);
  if (before == 0) {
    // All at once, for there is 0 before the band.
    for (int k = 0; k < 64; ++k) values[k] = static_cast<int16_t>(values[k] + band[k] * factor);
  } else {
    for (int k = scan.first; k <= scan.last; ++k) {
      values[k] = static_cast<int16_t>(band[before + k] * factor);
    }
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
  if (definition.empty() || !band_tables_.assign({}, definition)) {
    return false;
  }
  band_.set_band(band_tables_, static_cast<size_t>(scan_.last - scan_.first + 1));
  return true;
}

bool SpectralDecoder::begin(const JpegFrame& frame, const ProgressiveScan& scan,
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
  to_end_ = bottom == mcu_grid(frame).rows;
  plane_ = coefficients.plane(scan.component[0]);
  const McuSize mcu = scan_.component[0] == 0 ? mcu_size(frame.sampling) : McuSize{};
  rows_ = std::min(bottom * mcu.height / 8, plane_.rows);
  next_ = 0;
  blocks_ = {};
  return true;
}

bool SpectralDecoder::decode_dc(const JpegFrame& frame, const ProgressiveScan& scan,
                                const ScanBytes& bytes, size_t bottom,
                                const Coefficients& coefficients) {
  if (!begin(frame, scan, bytes, bottom, coefficients)) return false;
  if (scan.count != 1) return decode_mcus(frame, coefficients, bottom) && ends_here();
  while (has_blocks()) {
    if (!take_blocks()) return false;
    for (size_t i = 0; i < blocks_.count; ++i) {
      int16_t* const value = blocks_.values + i * 64;
      if (!(scan_.refines() ? refine_dc(value) : first_dc(value, 0))) return false;
    }
  }
  return ends_here();
}

bool SpectralDecoder::begin_ac(const JpegFrame& frame, const ProgressiveScan& scan,
                               const ScanBytes& bytes, size_t bottom,
                               const Coefficients& coefficients) {
  if (!begin(frame, scan, bytes, bottom, coefficients)) return false;
  if (scan.refines()) refiner_.start(tables_[0], scan, bits_);
  return true;
}

bool SpectralDecoder::working() const {
  return scan_.refines() ? !refiner_.done() : band_.state() == BlockDecoder::State::working;
}

bool SpectralDecoder::end_blocks() {
  if (scan_.refines()) {
    bits_ = refiner_.bits();
    run_ = refiner_.run_left();
    return !refiner_.failed();
  }
  if (band_.state() == BlockDecoder::State::failed) return false;
  bits_ = band_.bits();
  run_ = static_cast<uint32_t>(band_.run_left());
  for (size_t i = 0; i < blocks_.count; ++i) {
    if (!fits(band_.values(i), scan_.low)) return false;
    take_band(band_.values(i), scan_, blocks_.values + i * 64, blocks_.nonzero[i]);
  }
  return true;
}

bool SpectralDecoder::begin_blocks() {
  while (!working()) {
    if (blocks_.count != 0 && !end_blocks()) return false;
    blocks_.count = 0;
    if (!has_blocks()) return true;
    batch_ = next_;
    if (!take_blocks()) return false;
    if (scan_.refines()) {
      refiner_.begin(bits_, blocks_);
    } else {
      band_.begin(bits_, blocks_.count);
    }
  }
  return true;
}

void SpectralDecoder::run() { scan_.refines() ? refiner_.run() : band_.run(); }

void SpectralDecoder::run(SpectralDecoder& a, SpectralDecoder& b) {
  a.scan_.refines() ? BlockRefiner::run(a.refiner_, b.refiner_)
                    : BlockDecoder::run(a.band_, b.band_);
}

bool SpectralDecoder::decode_ac(SpectralDecoder& older, SpectralDecoder& newer) {
  const bool follows =
      newer.scan_.refines() && older.scan_.component[0] == newer.scan_.component[0];
  for (;;) {
    if (!older.begin_blocks()) return false;
    if (!older.working()) return older.ends_here();
    if (follows && !newer.working() && newer.next_ + kBatch > older.batch_) {
      older.run();
      continue;
    }
    if (!newer.begin_blocks()) return false;
    if (!newer.working()) return newer.ends_here();
    run(older, newer);
  }
}

bool SpectralDecoder::finish_ac() {
  for (;;) {
    if (!begin_blocks()) return false;
    if (!working()) return ends_here();
    run();
  }
}

bool SpectralDecoder::ends_here() const {
  return to_end_ ? at_segment_end() && in_last_segment() : within_segment();
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

bool SpectralDecoder::take_blocks() {
  if (!restart_where_due() || !within_segment()) return false;
  const size_t y = next_ / plane_.columns, x = next_ % plane_.columns;
  size_t count = std::min(plane_.columns - x, kBatch);
  if (interval_ != 0) {
    count = std::min(count, until_restart_);
    until_restart_ -= count;
  }
  const size_t at = y * plane_.stride + x;
  blocks_ = {plane_.values + at * 64, plane_.nonzero + at, count};
  next_ += count;
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
  const uint32_t entry = tables_[component].next(bits_);
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

}  // namespace stoker

#endif

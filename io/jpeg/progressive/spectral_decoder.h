#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/jpeg/bit_reader.h"
#include "io/jpeg/block_decoder.h"
#include "io/jpeg/block_tables.h"
#include "io/jpeg/progressive/block_refiner.h"
#include "io/jpeg/progressive/coefficients.h"
#include "io/jpeg/progressive/progression.h"
#include "io/jpeg/scan_bytes.h"

namespace stoker {

// Entropy-coded data of one scan of a progressive file -> more of the image's coefficients. One
// thread at a time; throws nothing. Needs AVX2, BMI2 and POPCNT.
class SpectralDecoder {
 public:
  // All of a scan of DC coefficients up to the MCU row `bottom` of the image; the rest is not
  // looked at. Where that is the last row, the scan must end behind it. False: what was decoded is
  // not a scan as an encoder makes it, and the coefficients are unspecified then.
  bool decode_dc(const JpegFrame& frame, const ProgressiveScan& scan, const ScanBytes& bytes,
                 size_t bottom, const Coefficients& coefficients);

  // The same for AC coefficients, in steps, for the scans of two decoders take little more time
  // together than one of them. `frame` may go, `bytes` must stay.
  bool begin_ac(const JpegFrame& frame, const ProgressiveScan& scan, const ScanBytes& bytes,
                size_t bottom, const Coefficients& coefficients);
  // Both have begun, and both or neither are refinements. Goes on until one of them is finished.
  // `newer` comes later in the file if they are of one component.
  static bool decode_ac(SpectralDecoder& older, SpectralDecoder& newer);
  // Goes on until it is finished.
  bool finish_ac();
  bool finished() const { return !working() && !has_blocks(); }
  bool refines() const { return scan_.refines(); }

 private:
  // How many blocks are decoded between two looks at the position. A block takes at most 63 symbols
  // of 16 + 10 bits, and a run of 30 bits.
  static constexpr size_t kBatch = 16;
  static_assert(kBatch * (63 * 26 + 30) / 8 + 16 <= ScanBytes::kSlack);
  static_assert(kBatch <= BlockDecoder::kMaxBlocks);

  bool assign_tables(const JpegFrame& frame);
  bool assign_band(Bytes definition);
  bool begin(const JpegFrame& frame, const ProgressiveScan& scan, const ScanBytes& bytes,
             size_t bottom, const Coefficients& coefficients);
  // A scan of one component has its own blocks, row by row. False: damage before the next ones.
  bool take_blocks();
  bool has_blocks() const { return next_ < rows_ * plane_.columns; }
  // Whether some of the blocks that were taken still lack their AC coefficients.
  bool working() const;
  // If all are decoded, takes more blocks, as long as there are any.
  bool begin_blocks();
  bool end_blocks();
  void run();
  static void run(SpectralDecoder& a, SpectralDecoder& b);
  // A scan of several: whole MCUs of first coefficients.
  bool decode_mcus(const JpegFrame& frame, const Coefficients& coefficients, size_t bottom);
  bool first_dc(int16_t* value, size_t component);
  bool refine_dc(int16_t* value);

  // Goes behind a restart marker if the next MCU lies behind one. False: the segment before has not
  // ended there.
  bool restart_where_due();
  bool within_segment() const { return bits_.used(bytes_->data()) <= segment_bits(); }
  // The segment is read to its end, but for the padding of its last byte.
  bool at_segment_end() const {
    return within_segment() && segment_bits() - bits_.used(bytes_->data()) < 8 && run_ == 0;
  }
  bool ends_here() const;
  bool in_last_segment() const { return segment_ + 1 == bytes_->ends().size(); }
  uint64_t segment_bits() const { return uint64_t{bytes_->ends()[segment_]} * 8; }

  // One component's first bits of AC coefficients are blocks as those of baseline files.
  BlockTables band_tables_;
  BlockDecoder band_;
  std::array<SymbolTable, 3> tables_;  // of the other scans
  BlockRefiner refiner_;
  ProgressiveScan scan_;
  const ScanBytes* bytes_ = nullptr;
  BitReader bits_;
  size_t segment_ = 0;
  size_t interval_ = 0;       // MCUs between restarts; 0: none
  size_t until_restart_ = 0;  // MCUs
  // For a scan of one component: the rows of blocks to decode, the next block to take, and the
  // blocks that were taken last, with the number of the first of them.
  CoefficientPlane plane_;
  size_t rows_ = 0;
  size_t next_ = 0;
  BlockRow blocks_;
  size_t batch_ = 0;
  bool to_end_ = false;  // of the image
  // How many of the next blocks have no symbols, because a run covers them.
  uint32_t run_ = 0;
  std::array<int, 3> predictions_{};
};

}  // namespace stoker

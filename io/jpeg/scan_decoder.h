#pragma once

#include <array>
#include <cstdint>

#include "io/jpeg/bit_reader.h"
#include "io/jpeg/block_decoder.h"
#include "io/jpeg/block_tables.h"
#include "io/jpeg/inverse_dct.h"
#include "io/jpeg/jpeg_frame.h"
#include "io/jpeg/scan_ahead.h"
#include "io/jpeg/scan_bytes.h"

namespace stoker {

// Part of an image in MCUs: columns [left, right) of the rows [top, bottom). A value.
struct McuRect {
  size_t left = 0;
  size_t right = 0;
  size_t top = 0;
  size_t bottom = 0;
};

// Entropy-coded data -> samples, some MCUs after the others, so that coefficients never leave the
// cache. A second decoder runs ahead where that is worth it (ScanAhead). One thread at a time;
// keeps the tables of the last image, which the next one mostly has, too. Needs AVX2 and BMI2.
// Allocates nothing but tables, and throws nothing but std::bad_alloc.
class ScanDecoder {
 public:
  // Fills the MCUs of `needed` in `planes`, whose memory is there, with blocks of the planes'
  // sides. Decoding ends behind the last of them; but where they reach the image's last row, all of
  // the scan is read and must end there. `needed` must not be empty. `frame` and `scan` belong to
  // the same file; they are not referred to after the call. False: what was decoded is not a scan
  // as an encoder makes it, and the planes' contents are unspecified.
  bool decode(const JpegFrame& frame, const ScanBytes& scan, const McuRect& needed,
              const JpegPlanes& planes);

 private:
  static constexpr size_t kMaxBlocks = 6;  // of an MCU

  // One block of an MCU: what decodes it and where it goes.
  struct BlockPlace {
    BlockTables* tables = nullptr;
    // 0: Y, 1: Cb, 2: Cr.
    size_t component = 0;
    // In the first MCU, without values.
    DctBlock block{};
    // From an MCU to the next, and to the one below.
    size_t across = 0;
    size_t down = 0;
  };

  // False: libjpeg would not accept one of the tables.
  bool assign_blocks(const JpegFrame& frame, const JpegPlanes& planes);
  // The blocks of the next `count` MCUs, at most a batch of BlockDecoder's, or of fewer, at least
  // one, whose number `count` is then; valid until the next call. At most `wanted` will be asked
  // for before the segment ends, nothing skipped; 0: not known. Null: damage.
  int16_t* decode_mcus(size_t& count, size_t wanted);
  // The decoder's, while the other one runs ahead. False: damage.
  bool decode_batch(size_t count);
  // Starts the other one where it has enough to do.
  void start_ahead(size_t wanted);
  // Differences to DC coefficients. False: damage.
  bool predict(int16_t* blocks, size_t mcus);
  // Passes over the next MCUs and keeps only the predictions of the DC coefficients.
  bool skip_mcus(size_t count);
  // The samples of the MCUs with these blocks, side by side from (x, y) on. False: a coefficient is
  // one that hardly any encoder writes.
  bool store(const int16_t* blocks, size_t mcus, size_t x, size_t y) const;

  // Not a bit too many was read in this segment.
  bool within_segment() const { return bits_.used(scan_->data()) <= segment_bits(); }
  // And all but the padding of its last byte.
  bool at_segment_end() const {
    return within_segment() && segment_bits() - bits_.used(scan_->data()) < 8;
  }
  bool in_last_segment() const { return segment_ + 1 == scan_->ends().size(); }
  // Behind a restart marker. False: the segment before has not ended where it must.
  bool next_segment();
  uint64_t segment_bits() const { return uint64_t{scan_->ends()[segment_]} * 8; }

  const InverseDcts inverse_dcts_ = best_inverse_dcts();
  std::array<BlockTables, 3> tables_;
  std::array<BlockPlace, kMaxBlocks> blocks_;
  size_t block_count_ = 0;  // of an MCU
  BlockDecoder decoder_;
  ScanAhead ahead_;
  size_t left_mcus_ = 0;  // of the image, or of the segment
  size_t ready_ = 0;      // MCUs that ahead_ has decoded
  const ScanBytes* scan_ = nullptr;
  BitReader bits_;
  // Between restart markers: the one that is read.
  size_t segment_ = 0;
  // The last DC coefficient of each component, without its quantisation.
  std::array<int, 3> predictions_{};
};

}  // namespace stoker

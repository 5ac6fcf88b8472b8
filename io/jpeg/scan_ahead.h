#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/core/system/memory.h"
#include "io/jpeg/bit_reader.h"
#include "io/jpeg/block_decoder.h"

namespace stoker {

// A second decoder in the same scan, further on, so that two run in one loop. It does not know
// where an MCU begins there. It takes the place for one, and as Huffman codes synchronise
// themselves, it soon meets real ones. Where the first decoder begins an MCU at the same bit as
// this one, all that follows is right, but for the predictions of the DC coefficients, which are
// not made here. Until then damage means nothing; behind that, it ends here, and the first decoder
// comes to it. So nothing depends on this one but the time.
//
// One thread at a time. Throws nothing but std::bad_alloc. It keeps its memory for coefficients.
class ScanAhead {
 public:
  // The most that are kept: they shall stay in the second-level cache.
  static constexpr size_t kMaxBlocks = 2048;

  // The decoder, for its tables. `mcu_blocks`: the blocks of an MCU.
  BlockDecoder& decoder() { return decoder_; }
  // Starts at the byte behind `scan`. `end`: where the segment ends, in bits. The memory belongs to
  // ScanBytes, and must stay until stop().
  void start(const uint8_t* scan, size_t byte, uint64_t end, size_t mcu_blocks);
  void stop();
  // Between start() and stop(). It may stop by itself.
  bool active() const { return active_; }
  // The decoder has more to do.
  bool working() const { return active_ && decoder_.state() == BlockDecoder::State::working; }
  // To call when the decoder may be through with a batch.
  void advance();

  // Where it started, in bits.
  uint64_t begin() const { return begin_; }
  // The first decoder begins an MCU at this bit, not before begin(). Gives the MCUs that are ready
  // from there on, `wanted` at most; 0: not at this bit. Stops where they cannot meet any more.
  size_t meet(uint64_t bit, size_t wanted);
  // The blocks of the next `mcus` MCUs that are ready, as BlockDecoder has them.
  int16_t* take(size_t mcus);
  // The bits behind all that was ready.
  const BitReader& end() const { return end_of_ready_; }

 private:
  // Some MCUs that were decoded together.
  struct Batch {
    BitReader begin;
    uint64_t bit;
    size_t mcus;
    size_t first_mcu;
  };
  // Where the decoders must have met: until then batches of one MCU.
  static constexpr size_t kMaxSearched = 32;

  void begin_batch(const BitReader& bits);
  void keep_batch();
  void restart_behind(uint64_t bit);

  BlockDecoder decoder_;
  Buffer memory_;
  int16_t* blocks_ = nullptr;
  std::vector<Batch> batches_;
  const uint8_t* scan_ = nullptr;
  uint64_t begin_ = 0;
  uint64_t segment_end_ = 0;
  size_t mcu_blocks_ = 1;
  bool active_ = false;
  BitReader next_;   // behind the batches
  size_t mcus_ = 0;  // of all batches, and of the one that is being decoded
  size_t batch_mcus_ = 0;
  size_t searched_ = 0;  // batches before this one begin before the first decoder
  size_t taken_ = 0;     // MCUs
  BitReader end_of_ready_;
};

}  // namespace stoker

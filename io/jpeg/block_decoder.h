#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/jpeg/bit_reader.h"
#include "io/jpeg/block_tables.h"

namespace stoker {

// Entropy decoding of a few blocks at a time, without a branch that depends on the data: whether a
// block ends with a look-up selects the next table, block and position, and is not jumped on. What
// is left are the symbols that a table does not cover. As each look-up waits for the one before,
// two decoders at different places of a scan run in one loop in little more than the time of one.
//
// A batch is begun, run until it is done, and read. One thread at a time. Throws nothing. Reads
// beyond the scan's end without noticing: the caller keeps kMaxBytes readable there and compares
// the position afterwards.
class BlockDecoder {
 public:
  // The most blocks of a batch: four MCUs of 4:2:0, or any other whole number of MCUs below that.
  static constexpr size_t kMaxBlocks = 24;
  // If this many bytes may be read behind the scan, one look at the position before each batch is
  // enough: a symbol takes at most 16 bits and its value 11.
  static constexpr size_t kMaxBytes = kMaxBlocks * 64 * 27 / 8 + 16;

  BlockDecoder();
  // The tables of block `i` of every batch, i < kMaxBlocks. They must outlive the batches.
  void set_tables(size_t i, const BlockTables& tables);
  // Instead, for all blocks of every batch: they have no first symbol of their own but only `count`
  // other coefficients, the last of them at the end of values(), and may end in runs (T.81,
  // G.1.2.2). No run is left from before. skip() must not be called.
  void set_band(const BlockTables& tables, size_t count);

  // Starts with the first `blocks` blocks of a batch, at least one.
  STOKER_AVX2 void begin(const BitReader& bits, size_t blocks);
  // failed: there is something in the batch that no encoder writes; the values are unspecified.
  enum class State { working, done, failed };
  State state() const { return state_; }
  // Works until it is done or has failed.
  void run();
  // Both work until one of them is done or has failed. Both must be working.
  static void run(BlockDecoder& a, BlockDecoder& b);
  // The bits behind the batch, when it is done.
  const BitReader& bits() const { return stream_.bits; }
  // How many blocks of the next batches have ended already.
  size_t run_left() const { return run_left_; }

  // Decodes a whole batch, but only the first value of each block, which is faster. False: it
  // failed.
  bool skip(BitReader& bits, size_t blocks);

  // The 64 values of block `i` of the last batch, in the scan's order; the first one is a
  // difference. They are aligned to 64 bytes, and block i + 1 follows.
  int16_t* values(size_t i) { return batch_.blocks[i].values; }

 private:
  struct alignas(64) Block {
    int16_t values[64];
  };
  // What is needed to decode one block. As far apart as blocks, so that a step is found from its
  // block.
  struct alignas(sizeof(Block)) Step {
    const BlockTables* tables = nullptr;
    // What a block begins with, and where.
    const uint64_t* first = nullptr;
    uint64_t position = 0;
    // first, or stop_.
    const uint64_t* start = nullptr;
    // What follows it: tables->ac or tables->skip.
    const uint64_t* rest = nullptr;
    const uint64_t* far = nullptr;  // null with tables->skip
  };
  // The block behind the last one takes what is stored behind a block's end.
  struct Batch {
    std::array<Block, kMaxBlocks + 1> blocks;
    std::array<Step, kMaxBlocks + 1> steps;
    std::array<Step, kMaxBlocks + 1> skips;  // the steps of skip()
  };
  // Before a look-up.
  struct Stream {
    BitReader bits;
    const uint64_t* table = nullptr;
    int16_t* block = nullptr;
    uint64_t position = 0;  // of the next value
    // Takes over from a copy all but the place in memory.
    STOKER_AVX2_INLINE void take(const Stream& copy) {
      bits.take_bits(copy.bits);
      table = copy.table;
      block = copy.block;
      position = copy.position;
    }
  };
  STOKER_AVX2_INLINE static void take(uint64_t entry, uint64_t next, Stream& stream);
  // The inner loops work on copies of the streams, in registers.
  template <bool kSkip>
  STOKER_AVX2_INLINE static bool look_up(Stream& stream);
  template <bool kSkip>
  STOKER_AVX2 static void run_one(Stream& stream);
  STOKER_AVX2 static void run_two(Stream& a, Stream& b);
  // Decodes the symbol that no table covers.
  template <bool kSkip>
  bool continue_slowly();
  // Goes on with the block that is `blocks` further.
  template <bool kSkip>
  void start_block_behind(size_t blocks);
  void end_run();
  // Puts stop_ behind `blocks` blocks, and the right table where it was before.
  void stop_behind(size_t blocks, std::array<Step, kMaxBlocks + 1>& steps, size_t& last);
  STOKER_AVX2 bool has_stopped() const;
  // What stopped the stream: the batch's end, a symbol that no table covers, or damage.
  void look_what_stopped();
  template <bool kSkip>
  static const Step& step_of(const int16_t* block) {
    return *reinterpret_cast<const Step*>(
        reinterpret_cast<const char*>(block) +
        (kSkip ? offsetof(Batch, skips) : offsetof(Batch, steps)));
  }

  Batch batch_;
  BlockTables::Entries stop_;  // nothing but slow entries
  Stream stream_;
  State state_ = State::done;
  bool has_runs_ = false;
  size_t run_left_ = 0;
  size_t blocks_ = 0;   // of the last batch
  size_t skipped_ = 0;  // of the last one that was skipped
};

}  // namespace stoker

#pragma once

#include <cstddef>
#include <cstdint>

#include "io/jpeg/bit_reader.h"
#include "io/jpeg/progressive/progression.h"
#include "io/jpeg/progressive/refinement.h"
#include "io/jpeg/progressive/symbol_table.h"

namespace stoker {

// Blocks of one row of a component that lie side by side. A value that refers to memory of
// Coefficients.
struct BlockRow {
  int16_t* values = nullptr;
  uint64_t* nonzero = nullptr;
  size_t count = 0;
};

// One scan that refines AC coefficients, some blocks at a time. As each symbol waits for the one
// before, two scans are decoded in one loop in little more than the time of one.
//
// How a refinement is made without a look at each coefficient: the mask of those that are not 0
// says which place a run of zeros leads to (pdep), how many bits of correction come before it
// (popcnt) and whose they are (pdep again). A block's corrections are added at its end, sixteen
// coefficients at a time.
//
// One thread at a time. Throws nothing. Reads beyond the scan's end without noticing, as
// BlockDecoder does.
class BlockRefiner {
 public:
  // The table must outlive the scan.
  void start(const SymbolTable& table, const ProgressiveScan& scan, const BitReader& bits);
  // At least one block. The batch before must be done.
  STOKER_REFINE void begin(const BitReader& bits, const BlockRow& blocks);
  bool done() const { return state_.blocks.count == 0; }
  // There was something that no encoder writes: it is done, and the coefficients are unspecified.
  bool failed() const { return state_.failed; }
  // Runs until it is done.
  STOKER_REFINE void run();
  // Runs both until one of them is done; neither may be done before. They may belong to the same
  // component, if no block is in both batches.
  STOKER_REFINE static void run(BlockRefiner& a, BlockRefiner& b);
  // The bits behind the batch, when it is done.
  const BitReader& bits() const { return state_.bits; }
  // How many of the next blocks have no symbols, because a run covers them.
  uint32_t run_left() const { return state_.run; }

 private:
  // Masks as CoefficientPlane::nonzero.
  struct State {
    BitReader bits;
    // The positions of the block that are left, and those of them that are not 0.
    uint64_t rest = 0;
    uint64_t known = 0;
    // All of its zeros in the band, and how many are left but for one.
    uint64_t zeros = 0;
    int64_t left = 0;
    Refinement refinement;
    BlockRow blocks;
    uint32_t run = 0;
    bool failed = false;
    // The same for all blocks of the scan.
    const SymbolTable* table = nullptr;
    uint64_t band = 0;
    int low = 0;
  };
  STOKER_REFINE_INLINE static void begin_block(State& state);
  STOKER_REFINE_INLINE static void read_symbol(State& state);
  STOKER_REFINE_INLINE static void end_block(State& state);

  State state_;
};

}  // namespace stoker

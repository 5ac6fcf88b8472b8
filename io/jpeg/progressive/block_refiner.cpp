#include "io/jpeg/progressive/block_refiner.h"

#if defined(__x86_64__)

namespace stoker {

void BlockRefiner::start(const SymbolTable& table, const ProgressiveScan& scan,
                         const BitReader& bits) {
  state_ = {};
  state_.bits = bits;
  state_.table = &table;
  state_.band = ~uint64_t{0} >> scan.first & ~uint64_t{0} << (63 - scan.last);
  state_.low = scan.low;
}

STOKER_REFINE_INLINE void BlockRefiner::begin_block(State& state) {
  const uint64_t nonzero = *state.blocks.nonzero;
  state.zeros = state.band & ~nonzero;
  state.known = state.band & nonzero;
  state.left = _mm_popcnt_u64(state.zeros) - 1;
  state.rest = state.run == 0 ? state.band : 0;
  state.refinement = {};
  state.bits.refill();
}

STOKER_REFINE_INLINE void BlockRefiner::read_symbol(State& state) {
  BitReader& bits = state.bits;
  // All bits of a symbol are there, but those of a run of blocks.
  const uint32_t entry = state.table->next(bits);
  const int64_t left = state.left - SymbolTable::run(entry);
  if (entry == 0 || left < 0 || (entry & SymbolTable::kEnd) != 0) [[unlikely]] {
    if (entry != 0 && (entry & SymbolTable::kEnd) != 0) {
      bits.refill();
      state.run = SymbolTable::blocks(entry, bits);
      bits.skip(SymbolTable::total(entry));
    } else {
      state.failed = true;
    }
    state.rest = 0;
    return;
  }
  const uint64_t at = _pdep_u64(uint64_t{1} << left, state.zeros);
  state.left = left - 1;
  const uint64_t present = SymbolTable::present(entry);
  const uint64_t positive = bits.peek_all() << SymbolTable::code(entry) >> 63;
  state.refinement.fresh |= at & (0 - present);
  state.refinement.negative |= at & (0 - (present & ~positive));
  bits.skip(SymbolTable::total(entry));
  // Here, because the place is waited for.
  bits.refill();
  // Everything before the place that was found.
  state.refinement.correct(bits, state.known & (0 - at));
  state.rest &= at - 1;
  state.known &= at - 1;
}

STOKER_REFINE_INLINE void BlockRefiner::end_block(State& state) {
  if (state.run != 0) {
    state.bits.refill();
    state.refinement.correct(state.bits, state.known);
    --state.run;
  }
  BlockRow& blocks = state.blocks;
  if (state.refinement.changes()) {
    state.refinement.apply(blocks.values, state.low);
    *blocks.nonzero |= state.refinement.fresh;
  }
  blocks.values += 64;
  ++blocks.nonzero;
  blocks.count = state.failed ? 0 : blocks.count - 1;
  if (blocks.count != 0) begin_block(state);
}

STOKER_REFINE void BlockRefiner::begin(const BitReader& bits, const BlockRow& blocks) {
  state_.bits = bits;
  state_.blocks = blocks;
  begin_block(state_);
}

STOKER_REFINE void BlockRefiner::run() {
  State state = state_;
  while (state.blocks.count != 0) {
    while (state.rest != 0) read_symbol(state);
    end_block(state);
  }
  state_ = state;
}

STOKER_REFINE void BlockRefiner::run(BlockRefiner& a, BlockRefiner& b) {
  State first = a.state_, second = b.state_;
  while (first.blocks.count != 0 && second.blocks.count != 0) {
    while (first.rest != 0 && second.rest != 0) {
      read_symbol(first);
      read_symbol(second);
    }
    if (first.rest == 0) end_block(first);
    if (second.rest == 0) end_block(second);
  }
  a.state_ = first;
  b.state_ = second;
}

}  // namespace stoker

#endif

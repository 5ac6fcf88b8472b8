#include "io/decoder/jpeg/block_decoder.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "io/decoder/jpeg/jpeg_frame.h"

namespace stoker {
namespace {

constexpr uint64_t kBlockBytes = 64 * sizeof(int16_t);
static_assert(BlockTables::kEnd == kBlockBytes);

// A refill covers the look-ups until the next one.
template <bool kSkip>
constexpr int kLookups = kSkip ? 3 : 5;
static_assert(kLookups<false> * BlockTables::kBits <= BitReader::kRefilled);
static_assert(kLookups<true> * BlockTables::kMaxSkipped <= BitReader::kRefilled);

// Compilers prefer a jump here, which is mispredicted for nearly every block.
STOKER_AVX2_INLINE void start_next_block_at_end(uint32_t entry, const uint32_t* next_table,
                                                const uint32_t*& table, uint64_t& position) {
  asm("testb %b[entry], %b[entry]\n\t"
      "cmovsq %[next_table], %[table]\n\t"
      "cmovsq %[zero], %[position]"
      : [table] "+r"(table), [position] "+r"(position)
      : [entry] "q"(entry), [next_table] "rm"(next_table), [zero] "r"(uint64_t{0})
      : "cc");
}

STOKER_AVX2_INLINE void clear(int16_t* block) {
  auto* const vectors = reinterpret_cast<__m256i*>(block);
  for (int i = 0; i < 4; ++i) _mm256_store_si256(vectors + i, _mm256_setzero_si256());
  asm("" ::: "memory");  // no memset, which is slower for so little
}

STOKER_AVX2_INLINE int take_value(BitReader& bits, uint32_t size) {
  if (size == 0) return 0;
  const auto value = static_cast<uint32_t>(bits.peek(static_cast<int>(size)));
  bits.skip(size);
  return extend(value, static_cast<int>(size));
}

}  // namespace

struct BlockDecoder::State {
  BitReader bits;
  const uint32_t* table;
  uint32_t entry;
  int16_t* block;
  uint64_t position;  // of the last coefficient
};

BlockDecoder::BlockDecoder() { stop_.fill(BlockTables::kSlow << 21); }

void BlockDecoder::set_tables(size_t i, const BlockTables& tables) {
  batch_.steps[i] = {&tables, tables.dc.data(), tables.ac.data(), 0};
  batch_.skips[i] = {&tables, tables.dc.data(), tables.skip.data(), 0};
}

template <bool kSkip>
STOKER_AVX2 bool BlockDecoder::decode_batch(BitReader& bits, size_t blocks) {
  for (size_t i = 0; i < blocks && !kSkip; ++i) clear(batch_.blocks[i].values);
  auto& steps = kSkip ? batch_.skips : batch_.steps;
  const uint32_t* const after = steps[blocks].dc;
  steps[blocks].dc = stop_.data();

  const uint8_t* const order = kNaturalOrder.data();
  State state{bits, steps[0].dc, 0, batch_.blocks[0].values, 0};
  bool good = true;
  do {
    BitReader reader = state.bits;
    const uint32_t* table = state.table;
    int16_t* block = state.block;
    uint64_t position = state.position, next = 0;
    uint32_t entry = 0;
    for (;;) {
      reader.refill();
#pragma GCC unroll 8
      for (int i = 0; i < kLookups<kSkip>; ++i) {
        entry = table[reader.peek(BlockTables::kBits)];
        reader.skip(entry);
        const uint64_t first = position + BlockTables::advance(entry);
        next = first + BlockTables::second_advance(entry);
        if (!kSkip) {
          block[order[next]] = static_cast<int16_t>(BlockTables::second_value(entry));
        }
        block[order[first]] = static_cast<int16_t>(BlockTables::value(entry));
        if (next >= 63) [[unlikely]] {
          break;
        }
        Step& step = step_of<kSkip>(block);
        if (!kSkip) step.last = next;
        table = step.rest;
        position = next;
        start_next_block_at_end(entry, (&step)[1].dc, table, position);
        block += (entry & BlockTables::kEnd) / sizeof(int16_t);
      }
      if (next < 63) [[likely]] {
        continue;
      }
      // Most of what is slow: the table knows the code, but the value is too long for it.
      const uint64_t first = position + BlockTables::advance(entry);
      if (!BlockTables::is_known_code(entry) || first >= 63) break;
      reader.refill();
      reader.skip(BlockTables::known_code(entry));
      block[order[first]] =
          static_cast<int16_t>(take_value(reader, BlockTables::known_size(entry)));
      table = step_of<kSkip>(block).rest;
      step_of<kSkip>(block).last = first;
      position = first;
    }
    state = {reader, table, entry, block, position};
    if (table == stop_.data()) break;
    good = continue_slowly<kSkip>(state);
  } while (good);
  bits = state.bits;
  steps[blocks].dc = after;
  return good;
}

// Decodes what the table did not: state.entry was found at state.position and is used up.
template <bool kSkip>
STOKER_AVX2 bool BlockDecoder::continue_slowly(State& state) {
  BitReader& bits = state.bits;
  Step& step = step_of<kSkip>(state.block);
  const auto end_block = [&](uint64_t last) {
    step.last = last;
    state.position = 0;
    state.block += 64;
    state.table = (&step)[1].dc;
    return true;
  };
  const uint32_t entry = state.entry;
  const uint64_t first = state.position + BlockTables::advance(entry);
  if (first + BlockTables::second_advance(entry) == 63 && (entry & BlockTables::kEnd) == 0 &&
      !BlockTables::is_slow(entry)) {
    return end_block(63);
  }
  // Else the entry was slow; or the block was full after the first of two symbols, and the second
  // belongs to the next block.
  bits.rewind(entry & 63);
  bits.refill();
  const bool dc = state.table == step.dc;
  const HuffmanCode& code = dc ? step.tables->dc_code : step.tables->ac_code;
  const HuffmanSymbol found = code.find(static_cast<uint32_t>(bits.peek(16)));
  bits.skip(found.bits);
  const uint32_t size = dc ? found.symbol : found.symbol & 15;
  const uint32_t run = dc ? 0 : found.symbol >> 4;
  if (found.bits == 0 || size > (dc ? kMaxDcSize : kMaxAcSize)) return false;
  if (!dc && size == 0 && run != 15) return run == 0 && end_block(state.position);
  const uint64_t position = dc ? 0 : state.position + run + 1;
  if (position > 63) return false;
  state.block[kNaturalOrder[position]] = static_cast<int16_t>(take_value(bits, size));
  if (position == 63) return end_block(63);
  state.position = position;
  state.table = step.rest;
  step.last = position;
  return true;
}

bool BlockDecoder::decode(BitReader& bits, size_t blocks) {
  return decode_batch<false>(bits, blocks);
}

bool BlockDecoder::skip(BitReader& bits, size_t blocks) { return decode_batch<true>(bits, blocks); }

}  // namespace stoker

#endif

#include "io/jpeg/block_decoder.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <bit>

namespace stoker {
namespace {

static_assert(BlockTables::kEnd == 64 * sizeof(int16_t));

// A refill covers the look-ups until the next one.
template <bool kSkip>
constexpr int kLookups = BitReader::kRefilled /
                         (kSkip ? BlockTables::kMaxSkipped : BlockTables::kMaxBits);

// The table that an entry leads to, if that is not the one of the block; behind a block's end,
// where the next one begins. Compilers prefer a jump here, which is mispredicted for nearly every
// block.
STOKER_AVX2_INLINE void go_where_entry_leads(uint64_t entry, const uint64_t* const& far_table,
                                             const uint64_t* const& next_table,
                                             const uint64_t& next_position, const uint64_t*& table,
                                             uint64_t& position) {
  asm("testb %[flags], %b[entry]\n\t"
      "cmovgq %[far_table], %[table]\n\t"
      "cmovsq %[next_table], %[table]\n\t"
      "cmovsq %[next_position], %[position]"
      : [table] "+r"(table), [position] "+r"(position)
      : [entry] "q"(entry), [far_table] "m"(far_table), [next_table] "m"(next_table),
        [next_position] "m"(next_position),
        [flags] "i"(static_cast<int8_t>(BlockTables::kEnd | BlockTables::kFar))
      : "cc");
}

STOKER_AVX2_INLINE void clear(int16_t* block) {
  auto* const vectors = reinterpret_cast<__m256i*>(block);
  for (int i = 0; i < 4; ++i) _mm256_store_si256(vectors + i, _mm256_setzero_si256());
  asm("" ::: "memory");  // no memset, which is slower for so little
}

STOKER_AVX2_INLINE void store(int16_t* at, uint64_t values, size_t bytes) {
  std::memcpy(at, &values, bytes);
}

STOKER_AVX2_INLINE int take_value(BitReader& bits, uint32_t size) {
  if (size == 0) return 0;
  const auto value = static_cast<uint32_t>(bits.peek(static_cast<int>(size)));
  bits.skip(size);
  return extend(value, static_cast<int>(size));
}

}  // namespace

BlockDecoder::BlockDecoder() { stop_.fill(BlockTables::kSlow); }

void BlockDecoder::set_tables(size_t i, const BlockTables& tables) {
  const uint64_t* const dc = tables.dc.data();
  batch_.steps[i] = {&tables, dc, 0, dc, tables.ac.data(), tables.far.data()};
  batch_.skips[i] = {&tables, dc, 0, dc, tables.skip.data(), nullptr};
}

void BlockDecoder::set_band(const BlockTables& tables, size_t count) {
  const uint64_t* const ac = tables.ac.data();
  batch_.steps.fill({&tables, ac, 64 - count, ac, ac, tables.far.data()});
  has_runs_ = true;
  run_left_ = 0;
  state_ = State::done;
}

// Takes the values of an entry, which reach up to position `next`. Where only the difference is
// wanted, the others are of no meaning.
STOKER_AVX2_INLINE void BlockDecoder::take(uint64_t entry, uint64_t next, Stream& stream) {
  // Rotations, because a shift destroys its operand and takes a copy first.
  store(stream.block + stream.position, std::rotr(entry, 16), 4);
  // All bits that the entry takes; a shift by 64 less their number.
  const uint64_t taken = stream.bits.peek_all() >> (-entry & 63);
  store(stream.block + next - 1, taken + std::rotr(entry, 48), 2);
  stream.bits.skip(entry);
}

// False: nothing was taken, because the entry is slow, or has more than the block.
template <bool kSkip>
STOKER_AVX2_INLINE bool BlockDecoder::look_up(Stream& stream) {
  uint64_t entry = stream.table[stream.bits.peek(BlockTables::kBits)];
  uint64_t next = stream.position + BlockTables::positions(entry);
  const Step& step = step_of<kSkip>(stream.block);
  if (next > 63) [[unlikely]] {
    if (next != 64 || (entry & (BlockTables::kEnd | BlockTables::kFar)) != 0) {
      // Behind the block's last symbol the entry has symbols of another block.
      if (stream.table != step.rest) return false;
      entry = step.tables->one[stream.bits.peek(BlockTables::kBits)];
      next = stream.position + BlockTables::positions(entry);
      if (next > 64) return false;
    }
    take(entry, next, stream);
    stream.position = next;
    if (next == 64 || (entry & BlockTables::kEnd) != 0) {
      stream.table = (&step)[1].start;
      stream.position = (&step)[1].position;
      stream.block += 64;
    }
    return true;
  }
  take(entry, next, stream);
  stream.table = step.rest;
  const Step& behind = (&step)[1];
  go_where_entry_leads(entry, step.far, behind.start, behind.position, stream.table, next);
  stream.block += (entry & BlockTables::kEnd) / sizeof(int16_t);
  stream.position = next;
  return true;
}

template <bool kSkip>
STOKER_AVX2 void BlockDecoder::run_one(Stream& stream) {
  Stream local = stream;
  for (bool good = true; good;) {
    local.bits.refill();
#pragma GCC unroll 4
    for (int i = 0; i < kLookups<kSkip> && good; ++i) good = look_up<kSkip>(local);
  }
  stream = local;
}

STOKER_AVX2 void BlockDecoder::run_two(Stream& a, Stream& b) {
  Stream first = a, second = b;
  for (bool good = true; good;) {
    first.bits.refill_through(a.bits);
    second.bits.refill_through(b.bits);
#pragma GCC unroll 4
    for (int i = 0; i < kLookups<false> && good; ++i) {
      good = look_up<false>(first) && look_up<false>(second);
    }
  }
  a.take(first);
  b.take(second);
}

template <bool kSkip>
void BlockDecoder::start_block_behind(size_t blocks) {
  stream_.block += 64 * blocks;
  const Step& step = step_of<kSkip>(stream_.block);
  stream_.table = step.start;
  stream_.position = step.position;
}

// What is left of a run of ended blocks, as far as the batch has blocks.
void BlockDecoder::end_run() {
  const auto left = static_cast<size_t>(batch_.blocks[blocks_].values - stream_.block) / 64;
  const size_t ended = std::min(run_left_, left);
  run_left_ -= ended;
  start_block_behind<false>(ended);
}

template <bool kSkip>
STOKER_AVX2 bool BlockDecoder::continue_slowly() {
  Stream& stream = stream_;
  BitReader& bits = stream.bits;
  const Step& step = step_of<kSkip>(stream.block);
  bits.refill();
  const bool dc = stream.table == step.tables->dc.data(),
             far = stream.table == step.tables->far.data();
  const HuffmanCode& code = dc ? step.tables->dc_code : step.tables->ac_code;
  // Those that led to `far` and took a position.
  const int ones = far ? step.tables->far_bits : 0;
  stream.position -= far ? 1 : 0;
  const HuffmanSymbol found =
      code.find(static_cast<uint32_t>((0xffff0000u | bits.peek(16)) >> ones & 0xffff));
  if (found.bits == 0) return false;
  bits.skip(static_cast<uint64_t>(found.bits - ones));
  const uint32_t size = dc ? found.symbol : found.symbol & 15;
  const uint32_t run = dc ? 0 : found.symbol >> 4;
  if (size > (dc ? kMaxDcSize : kMaxAcSize)) return false;
  if (!dc && size == 0 && run != 15) {
    if (run == 0) return start_block_behind<kSkip>(1), true;
    if (!has_runs_) return false;
    // This block is counted, too.
    run_left_ = (size_t{1} << run) + (bits.peek(16) >> (16 - run));
    bits.skip(run);
    end_run();
    return true;
  }
  const uint64_t position = stream.position + run;
  if (position > 63) return false;
  stream.block[position] = static_cast<int16_t>(take_value(bits, size));
  if (position == 63) return start_block_behind<kSkip>(1), true;
  stream.position = position + 1;
  stream.table = step.rest;
  return true;
}

void BlockDecoder::stop_behind(size_t blocks, std::array<Step, kMaxBlocks + 1>& steps,
                               size_t& last) {
  steps[last].start = steps[last].first;
  steps[blocks].start = stop_.data();
  last = blocks;
}

STOKER_AVX2 void BlockDecoder::begin(const BitReader& bits, size_t blocks) {
  for (size_t i = 0; i < blocks; ++i) clear(batch_.blocks[i].values);
  stop_behind(blocks, batch_.steps, blocks_);
  stream_ = {bits, nullptr, batch_.blocks[0].values, 0};
  end_run();
  state_ = stream_.table == stop_.data() ? State::done : State::working;
}

void BlockDecoder::look_what_stopped() {
  if (stream_.block == batch_.blocks[blocks_].values) {
    state_ = State::done;
  } else if (!continue_slowly<false>()) {
    state_ = State::failed;
  }
}

bool BlockDecoder::has_stopped() const {
  const uint64_t entry = stream_.table[stream_.bits.peek(BlockTables::kBits)];
  return stream_.position + BlockTables::positions(entry) > 63;
}

void BlockDecoder::run() {
  while (state_ == State::working) {
    run_one<false>(stream_);
    look_what_stopped();
  }
}

void BlockDecoder::run(BlockDecoder& a, BlockDecoder& b) {
  while (a.state_ == State::working && b.state_ == State::working) {
    run_two(a.stream_, b.stream_);
    if (a.has_stopped())
      a.look_what_stopped();
    else
      b.look_what_stopped();
  }
}

bool BlockDecoder::skip(BitReader& bits, size_t blocks) {
  stop_behind(blocks, batch_.skips, skipped_);
  stream_ = {bits, batch_.skips[0].start, batch_.blocks[0].values, 0};
  for (;;) {
    run_one<true>(stream_);
    if (stream_.block == batch_.blocks[blocks].values) break;
    if (!continue_slowly<true>()) return false;
  }
  bits = stream_.bits;
  return true;
}

}  // namespace stoker

#endif

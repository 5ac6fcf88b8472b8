#include "io/jpeg/scan_ahead.h"

#if defined(__x86_64__)

#include <algorithm>
#include <cstring>

// How the second decoder finds its place and hands its work over:
//
// 1. start() puts it at a byte further on in the segment. It takes the bit there for the begin of
//    an MCU, which is nearly always wrong. But a wrong Huffman decoder falls into step with the
//    right one after some symbols, and later also with the blocks of an MCU.
// 2. It decodes batches of one MCU, at most kMaxSearched of them, so that both decoders can be
//    compared at many bits, and then batches of many MCUs. It notes where each batch begins.
// 3. Damage while it searches only shows that it is out of step: it begins again behind that
//    place. Damage later ends it, as it may be real, and the first decoder has to judge it.
// 4. When the first decoder has passed begin(), it asks before every MCU: meet(). If a batch begins
//    at exactly the first decoder's bit, both are in the same state, as an MCU depends on nothing
//    in front of it but the DC predictions. Everything from there on is right and is taken over.
// 5. The first decoder adds up the DC differences of what it took over, and goes on behind it.
// 6. If the first decoder passes all these places and none matches, the work is thrown away.

namespace stoker {
namespace {

constexpr size_t kBlockBytes = 64 * sizeof(int16_t);

}  // namespace

void ScanAhead::start(const uint8_t* scan, size_t byte, uint64_t end, size_t mcu_blocks) {
  uint8_t* memory = memory_.resize((kMaxBlocks + BlockDecoder::kMaxBlocks) * kBlockBytes + 64);
  memory += -reinterpret_cast<uintptr_t>(memory) % 64;
  blocks_ = reinterpret_cast<int16_t*>(memory);
  scan_ = scan;
  begin_ = uint64_t{byte} * 8;
  segment_end_ = end;
  mcu_blocks_ = mcu_blocks;
  active_ = true;
  restart_behind(begin_ - 8);  // which begins at the next byte
}

void ScanAhead::stop() { active_ = false; }

// Begins anew at the byte behind this bit.
void ScanAhead::restart_behind(uint64_t bit) {
  batches_.clear();
  searched_ = 0;
  mcus_ = 0;
  BitReader bits;
  bits.start(scan_ + bit / 8 + 1);
  begin_batch(bits);
}

void ScanAhead::begin_batch(const BitReader& bits) {
  next_ = bits;
  const bool searching = batches_.size() < kMaxSearched;
  batch_mcus_ = searching ? 1 : BlockDecoder::kMaxBlocks / mcu_blocks_;
  // At the segment's end, or when the memory is full, it only waits for the first decoder.
  if (bits.used(scan_) >= segment_end_ || (mcus_ + batch_mcus_) * mcu_blocks_ > kMaxBlocks) {
    batch_mcus_ = 0;
    return;
  }
  decoder_.begin(bits, batch_mcus_ * mcu_blocks_);
}

void ScanAhead::keep_batch() {
  const size_t blocks = batch_mcus_ * mcu_blocks_;
  std::memcpy(blocks_ + 64 * mcus_ * mcu_blocks_, decoder_.values(0), blocks * kBlockBytes);
  batches_.push_back({next_, next_.used(scan_), batch_mcus_, mcus_});
  mcus_ += batch_mcus_;
}

void ScanAhead::advance() {
  if (!active_ || batch_mcus_ == 0 || decoder_.state() == BlockDecoder::State::working) return;
  const uint64_t bit = decoder_.bits().used(scan_);
  if (decoder_.state() == BlockDecoder::State::done && bit <= segment_end_) {
    keep_batch();
    begin_batch(decoder_.bits());
  } else if (batches_.size() < kMaxSearched && bit < segment_end_) {
    restart_behind(bit);
  } else {
    batch_mcus_ = 0;
  }
}

size_t ScanAhead::meet(uint64_t bit, size_t wanted) {
  while (searched_ < batches_.size() && batches_[searched_].bit < bit) ++searched_;
  if (searched_ >= std::min(batches_.size(), kMaxSearched)) {
    // All begin before it. Perhaps the next one will not.
    if (batch_mcus_ == 0 || searched_ >= kMaxSearched || next_.used(scan_) < bit) stop();
    return 0;
  }
  if (batches_[searched_].bit != bit) return 0;
  // In step. Only whole batches are given, because the bits between their MCUs are not known.
  taken_ = batches_[searched_].first_mcu;
  size_t ready = 0, batch = searched_;
  while (batch < batches_.size() && ready + batches_[batch].mcus <= wanted) {
    ready += batches_[batch++].mcus;
  }
  end_of_ready_ = batch < batches_.size() ? batches_[batch].begin : next_;
  stop();
  return ready;
}

int16_t* ScanAhead::take(size_t mcus) {
  int16_t* const blocks = blocks_ + 64 * taken_ * mcu_blocks_;
  taken_ += mcus;
  return blocks;
}

}  // namespace stoker

#endif

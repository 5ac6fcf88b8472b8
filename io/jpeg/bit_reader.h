#pragma once

#include <cstdint>
#include <cstring>

#include "io/jpeg/avx2_constants.h"

namespace stoker {

// The next bits of a scan, in one register. One thread at a time; trivial to copy, so that loops
// keep it in registers. Refers to the scan's bytes. Reads up to 8 bytes behind what it has used:
// the caller provides that memory (ScanBytes) and looks now and then whether the scan was left;
// nothing is checked here.
class BitReader {
 public:
  // refill() leaves at least this many bits.
  static constexpr int kRefilled = 56;

  // At the first bit of a byte. refill() comes before the first look.
  void start(const uint8_t* at) { *this = {}, at_ = at; }

  // Call it before more bits are needed than kRefilled less those that were skipped since the last
  // call.
  STOKER_AVX2_INLINE void refill() { refill_through(*this); }
  // The same by a copy of `other`, which alone keeps the place in memory: where registers are few.
  // Assign the copy's bits back by take_bits().
  STOKER_AVX2_INLINE void refill_through(BitReader& other) {
    // The bits of the bytes behind at_ that fit already are in the register; they are put there a
    // second time.
    next_ |= load(other.at_) >> (left_ & 63);
    other.at_ += (~left_ & 63) >> 3;
    left_ = (left_ & 63) | kRefilled;
  }
  STOKER_AVX2_INLINE void take_bits(const BitReader& copy) {
    next_ = copy.next_;
    left_ = copy.left_;
  }
  // The next `bits` bits as a number, 1 to 64.
  STOKER_AVX2_INLINE uint64_t peek(int bits) const { return next_ >> (64 - bits); }
  // All that there are, and others behind them.
  STOKER_AVX2_INLINE uint64_t peek_all() const { return next_; }
  // Only the lowest six bits of `bits` count. The same is true for left_, so nothing has to be
  // masked here.
  STOKER_AVX2_INLINE void skip(uint64_t bits) {
    next_ <<= bits & 63;
    left_ -= bits;
  }
  // Bits used since `begin`.
  uint64_t used(const uint8_t* begin) const {
    return static_cast<uint64_t>(at_ - begin) * 8 - (left_ & 63);
  }

 private:
  static uint64_t load(const uint8_t* at) {
    uint64_t value;
    std::memcpy(&value, at, sizeof value);
    return __builtin_bswap64(value);
  }

  uint64_t next_ = 0;  // the next bit is the highest
  // How many of them count, modulo 64.
  uint64_t left_ = 0;
  const uint8_t* at_ = nullptr;
};

}  // namespace stoker

#pragma once

#include <cstdint>
#include <cstring>

// Only functions with STOKER_AVX2 may use AVX2 and BMI2: the rest of the program runs on every
// x86-64.
#define STOKER_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define STOKER_AVX2_INLINE __attribute__((target("avx2,bmi,bmi2"), always_inline)) inline

namespace stoker {

// The next bits of a scan, in one register. One thread at a time; trivial to copy, so that loops
// keep it in registers. Refers to the scan's bytes. Reads up to 8 bytes behind what it has used,
// and rewind() up to 8 before it: the caller provides that memory (ScanBytes) and looks now and
// then whether the scan was left; nothing is checked here.
class BitReader {
 public:
  // refill() leaves at least so many.
  static constexpr int kRefilled = 56;

  // At the first bit of a byte. refill() comes before the first look.
  void start(const uint8_t* at) { *this = {}, at_ = at; }

  // Before more bits are needed than kRefilled less those that were skipped since the last call.
  STOKER_AVX2_INLINE void refill() {
    // The bits of the bytes behind at_ that fit already are in the register; they are put there a
    // second time.
    next_ |= load(at_) >> (left_ & 63);
    at_ += (~left_ & 63) >> 3;
    left_ = (left_ & 63) | kRefilled;
  }
  // The next `bits` bits as a number, 1 to 64.
  STOKER_AVX2_INLINE uint64_t peek(int bits) const { return next_ >> (64 - bits); }
  // The lowest six bits of `bits` count. (Of left_, too: so nothing has to be masked here.)
  STOKER_AVX2_INLINE void skip(uint64_t bits) {
    next_ <<= bits & 63;
    left_ -= bits;
  }
  // Takes back what the last skip() took, directly after a refill().
  void rewind(uint64_t bits) {
    left_ = (left_ + bits) & 63;
    next_ = load(at_ - 8) << (64 - left_);
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

#pragma once

#include <cstdint>
#include <span>

namespace stoker {

// Where a stretch of the stream may begin.
inline constexpr uint64_t kNoiseBlock = 256ull << 10;

// Fills `out` with the bytes of an endless stream from `offset` on: bytes that no program
// compresses and no device finds twice, and that are the same on every machine. Each block of the
// stream is a function of the seed and its number, so that any part of it can be made by any
// thread. As fast as memory takes it where the processor has AVX2: past the cache, by 16 generators
// of 64 bits side by side (xorshift, Marsaglia, "Xorshift RNGs", 2003). offset: a multiple of
// kNoiseBlock. Any thread.
void fill_noise(uint64_t seed, uint64_t offset, std::span<uint8_t> out);

// What making them takes, beside the fastest that memory can be written: bytes/s of the median of
// some rounds in turns, by so many threads.
struct NoiseSpeed {
  double noise = 0;
  double memset = 0;
  double memcpy = 0;  // bytes that are copied; as many are read
};
NoiseSpeed measure_noise(int64_t threads);

}  // namespace stoker

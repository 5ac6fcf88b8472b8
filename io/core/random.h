#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stoker {

// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014; constants of D. Stafford's variant 13). A bijection of 64 bits in which
// every input bit flips every output bit with probability close to one half. scramble(0) is 0, so
// callers add kGoldenGamma first. Pure; any thread.
constexpr uint64_t scramble(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, odd

// One seed out of several numbers, as in mix(seed, epoch, index). Depends on their order and
// number: mix(1, 2) is neither mix(2, 1) nor mix(1, 2, 0). Pure; any thread.
template <class... Rest>
constexpr uint64_t mix(uint64_t first, Rest... rest) {
  uint64_t state = scramble(first + kGoldenGamma);
  ((state = scramble(std::rotl(state, 32) + static_cast<uint64_t>(rest) * 0xd6e8feb86659fd93u +
                     kGoldenGamma)),
   ...);
  return state;
}

// SplitMix64: a counter and a scramble. The n-th number is a pure function of (seed, n), the same
// on every machine and with every standard library, unlike the distributions of <random>.
//
// A value of 8 bytes; one thread at a time. Not for secrets.
struct Random {
  // Equal seeds give equal numbers. Make seeds of several numbers by mix().
  explicit constexpr Random(uint64_t seed) : state(seed) {}

  // 64 bits, each value with the same probability.
  constexpr uint64_t next() {
    state += kGoldenGamma;
    return scramble(state);
  }

  // In [0, n), each with the same probability; n > 0. Lemire, "Fast random integer generation in an
  // interval", ACM TOMACS 29 (2019), algorithm 5: multiply, and reject the few products that
  // would favour some results.
  constexpr uint64_t below(uint64_t n) {
    for (;;) {
      const auto product = static_cast<Wide>(next()) * n;
      const auto low = static_cast<uint64_t>(product);
      if (low >= n || low >= (0 - n) % n) return static_cast<uint64_t>(product >> 64);
    }
  }

  // In [0, 1), a multiple of 2^-53.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // In [low, high).
  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }

  uint64_t state;

 private:
  __extension__ typedef unsigned __int128 Wide;
};

// Shuffles a std::vector by Fisher and Yates.
template <class T>
void shuffle(T& all, Random& random) {
  for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
}

}  // namespace stoker

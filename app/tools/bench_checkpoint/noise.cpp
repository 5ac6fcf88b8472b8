#include "app/tools/bench_checkpoint/noise.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "app/tools/bench/benchmarks.h"
#include "io/core/random.h"
#include "io/core/system/memory.h"
#include "io/core/threads.h"
#include "io/metrics/clock.h"
#include "io/metrics/spread.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stoker {
namespace {

constexpr size_t kLanes = 16;
using Lanes = std::array<uint64_t, kLanes>;
constexpr size_t kStepBytes = sizeof(Lanes);  // of one step of all
static_assert(kNoiseBlock % kStepBytes == 0);

// The block's generators. None may begin at 0, where it would stay.
Lanes lanes_of(uint64_t seed, uint64_t block) {
  Lanes lanes;
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = mix(seed, block, i) | 1;
  return lanes;
}

void step(Lanes& lanes) {
  for (uint64_t& x : lanes) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"), always_inline)) inline __m256i stepped(__m256i x) {
  x = _mm256_xor_si256(x, _mm256_slli_epi64(x, 13));
  x = _mm256_xor_si256(x, _mm256_srli_epi64(x, 7));
  return _mm256_xor_si256(x, _mm256_slli_epi64(x, 17));
}

// As many whole steps as there is room for; `lanes` go on. `to` is aligned to 32 bytes.
__attribute__((target("avx2"))) void stream_steps(Lanes& lanes, uint8_t* to, size_t steps) {
  auto* state = reinterpret_cast<__m256i*>(lanes.data());
  __m256i a = _mm256_loadu_si256(state), b = _mm256_loadu_si256(state + 1);
  __m256i c = _mm256_loadu_si256(state + 2), d = _mm256_loadu_si256(state + 3);
  auto* target = reinterpret_cast<__m256i*>(to);
  for (size_t i = 0; i < steps; ++i, target += 4) {
    a = stepped(a), b = stepped(b), c = stepped(c), d = stepped(d);
    _mm256_stream_si256(target, a);
    _mm256_stream_si256(target + 1, b);
    _mm256_stream_si256(target + 2, c);
    _mm256_stream_si256(target + 3, d);
  }
  _mm256_storeu_si256(state, a), _mm256_storeu_si256(state + 1, b);
  _mm256_storeu_si256(state + 2, c), _mm256_storeu_si256(state + 3, d);
  _mm_sfence();
}
#endif

void fill_block(Lanes lanes, std::span<uint8_t> out) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && reinterpret_cast<uintptr_t>(out.data()) % 32 == 0) {
    const size_t steps = out.size() / kStepBytes;
    stream_steps(lanes, out.data(), steps);
    out = out.subspan(steps * kStepBytes);
  }
#endif
  while (!out.empty()) {
    step(lanes);
    const size_t size = std::min(out.size(), kStepBytes);
    std::memcpy(out.data(), lanes.data(), size);
    out = out.subspan(size);
  }
}

}  // namespace

void fill_noise(uint64_t seed, uint64_t offset, std::span<uint8_t> out) {
  for (uint64_t block = offset / kNoiseBlock; !out.empty(); ++block) {
    const std::span<uint8_t> part = out.first(std::min<uint64_t>(out.size(), kNoiseBlock));
    fill_block(lanes_of(seed, block), part);
    out = out.subspan(part.size());
  }
}

NoiseSpeed measure_noise(int64_t threads) {
  constexpr uint64_t kBytes = 256ull << 20;  // no cache holds it
  constexpr uint64_t kPiece = 8ull << 20;
  constexpr int64_t kRounds = 7;
  const HostMemory from = allocate_huge(kBytes, true), to = allocate_huge(kBytes, true);
  struct Way {
    double NoiseSpeed::*speed;
    std::function<void(uint64_t at)> work;
    std::vector<double> seconds = {};
  };
  uint8_t* const target = to.data.get();
  std::vector<Way> ways;
  ways.push_back({&NoiseSpeed::noise, [&](uint64_t at) {
                    fill_noise(1, at, {target + at, kPiece});
                  }});
  ways.push_back({&NoiseSpeed::memset, [&](uint64_t at) { std::memset(target + at, 1, kPiece); }});
  ways.push_back({&NoiseSpeed::memcpy,
                  [&](uint64_t at) { std::memcpy(target + at, from.data.get() + at, kPiece); }});
  interleave(ways, kRounds, 1, [&](Way& way, int64_t round) {
    const TimePoint begin = Clock::now();
    parallel_for(threads, kBytes / kPiece,
                 [&](int64_t i) { way.work(static_cast<uint64_t>(i) * kPiece); });
    if (round >= 0) way.seconds.push_back(seconds(Clock::now() - begin));
    return true;
  });
  NoiseSpeed speed;
  for (const Way& way : ways) {
    speed.*way.speed = static_cast<double>(kBytes) / spread(way.seconds).median;
  }
  return speed;
}

}  // namespace stoker

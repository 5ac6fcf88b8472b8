#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/tools/data/convert/convert.h"
#include "io/core/random.h"
#include "io/core/system/memory.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "tests/support/temporary_directory.h"

// What one thread takes to bring decoded pixels (224 x 224) into batches of 128, beside what the
// memory gives: plain copies of the same blocks, in random order, from more than the caches hold.
//
//   memory_bench [SAMPLES] [ROUNDS] [--benchmark_...]
//
// per_image is CPU time; the rounds of all benchmarks are interleaved in random order. Compare
// minima. The packed pixels (150,528 bytes a sample) lie below TMPDIR while it runs.

namespace stoker {
namespace {

constexpr size_t kSample = size_t{224} * 224 * 3;
constexpr size_t kSlots = 3 * 128;  // of three batches

template <class Kind>
Component<Kind> parse(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "benchmark");
  const ConfigContext context{{"data"}};
  return Registry<Kind>::global().parse(Section(node, "", Kind::kKind, &context));
}

std::vector<int64_t> random_order(int64_t samples) {
  std::vector<int64_t> order(static_cast<size_t>(samples));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  Random random(1);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

struct Setup {
  explicit Setup(int64_t samples)
      : order(random_order(samples)), slots(allocate_huge(kSlots * kSample, true)) {}
  uint8_t* slot(size_t i) const { return slots.data.get() + i % kSlots * kSample; }
  std::vector<int64_t> order;
  HostMemory slots;
};

// One call of `once` per sample and iteration.
void run(benchmark::State& state, const Setup& setup,
         const std::function<void(int64_t index, uint8_t* slot)>& once) {
  for (auto _ : state) {
    for (size_t i = 0; i < setup.order.size(); ++i) once(setup.order[i], setup.slot(i));
  }
  const auto images = static_cast<double>(setup.order.size());
  using benchmark::Counter;
  state.counters["per_image"] =
      Counter(images, Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.counters["images"] = Counter(images, Counter::kIsIterationInvariantRate);
  state.counters["bytes"] = Counter(images * kSample, Counter::kIsIterationInvariantRate);
}

// What a loader's worker does to a sample whose pixels are kept.
void bench_dataset(benchmark::State& state, const Setup& setup, const Dataset& dataset,
                   const std::string& options) {
  const auto decoder = parse<Decoder>("{type: raw, size: 224" + options + "}").create({});
  const auto session = decoder->open();
  Buffer scratch;
  uint64_t seed = 0;
  run(state, setup, [&](int64_t index, uint8_t* slot) {
    session->decode(dataset.read(Split::train, index, scratch).bytes, {true, ++seed}, slot);
  });
}

void read_all(const Dataset& dataset) {
  Buffer scratch;
  for (int64_t i = 0; i < dataset.size(Split::train); ++i) dataset.read(Split::train, i, scratch);
}

void add(const std::string& name, int rounds, const std::function<void(benchmark::State&)>& body) {
  const auto extreme = [](const std::vector<double>& values) {
    return *std::min_element(values.begin(), values.end());
  };
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->Iterations(1)
      ->Repetitions(rounds)
      ->Unit(benchmark::kMillisecond)
      ->ReportAggregatesOnly()
      ->ComputeStatistics("min", extreme);
}

// As `decoded` keeps them and as `dataset convert` writes them.
struct Kept {
  explicit Kept(int64_t samples) {
    const std::string source =
        "{type: synthetic, unique: 64, test_samples: 0, samples: " + std::to_string(samples) +
        ", image: {median_bytes: 15k}}";
    Tiers none;
    memory = parse<Dataset>("{type: decoded, limit: 64GiB, inner: " + source + "}")
                 .create({none, 1, {}});
    tiers.add("data", parse<Storage>("{type: posix, root: " + directory.path() + "}").create({}));
    const auto decoder = parse<Decoder>("{type: turbojpeg}").create({});
    ConvertOptions options;
    options.format = default_component<ShardFormatWriter>("packed");
    convert_dataset(*parse<Dataset>(source).create({none, 1, {}}), *decoder, {tiers, "data"},
                    options);
    packed = parse<Dataset>("{type: packed, storage: data}").create({tiers, 1, {}});
    copied = parse<Dataset>("{type: packed, storage: data, access: copy}").create({tiers, 1, {}});
    for (const Dataset* dataset : {memory.get(), packed.get()}) read_all(*dataset);
  }
  const TemporaryDirectory directory;
  Tiers tiers;
  std::unique_ptr<Dataset> memory, packed, copied;
};

void add_all(const Setup& setup, const Kept& kept, const HostMemory& source, int rounds) {
  using State = benchmark::State;
  const auto at = [&](int64_t index) {
    return source.data.get() + static_cast<size_t>(index) * kSample;
  };
  add("memcpy", rounds, [&, at](State& state) {
    run(state, setup, [&](int64_t i, uint8_t* slot) { std::memcpy(slot, at(i), kSample); });
  });
  add("stream_copy", rounds, [&, at](State& state) {
    run(state, setup, [&](int64_t i, uint8_t* slot) { stream_copy(slot, at(i), kSample); });
  });
  add("decoded", rounds, [&](State& state) { bench_dataset(state, setup, *kept.memory, ""); });
  add("packed/mapped", rounds,
      [&](State& state) { bench_dataset(state, setup, *kept.packed, ""); });
  add("packed/copy", rounds, [&](State& state) { bench_dataset(state, setup, *kept.copied, ""); });
  add("decoded+flip", rounds,
      [&](State& state) { bench_dataset(state, setup, *kept.memory, ", augment: {flip: true}"); });
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const int64_t samples = argc > 1 ? std::stoll(argv[1]) : 5000;
  const int rounds = argc > 2 ? std::stoi(argv[2]) : 10;
  const stoker::Setup setup(samples);
  const stoker::Kept kept(samples);
  const stoker::HostMemory source =
      stoker::allocate_huge(static_cast<size_t>(samples) * stoker::kSample, true);
  stoker::add_all(setup, kept, source, rounds);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

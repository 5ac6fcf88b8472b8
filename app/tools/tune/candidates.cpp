#include "app/tools/tune/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/tools/simulate/steady.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr int64_t kWorkers[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
constexpr int64_t kPrefetch[] = {1, 2, 4, 8};
// A copy of a decoded sample within memory, and its augmentation.
constexpr double kKeptBytesPerMs = 1.5e6;
// What a worker holds beside batches: a file, and an image of some megapixels.
constexpr uint64_t kWorkerBytes = 4'000'000;
constexpr const char* kResident = "device_resident";

bool modelled(const std::string& loader) {
  return loader == "sync" || loader == "threaded" || loader == "prefetched" ||
         loader == "device_prefetched";
}
bool makes_batches_ahead(const std::string& loader) {
  return loader == "prefetched" || loader == "device_prefetched";
}

// The rate where stages never wait for one another.
double crude_rate(const SimulationInputs& inputs, int64_t workers) {
  const SimulatedCosts& costs = inputs.options.workload.costs;
  const double sample_ms = costs.read_ms + costs.decode_ms;
  const double loads = sample_ms > 0 ? 1e3 * static_cast<double>(workers) / sample_ms : 1e12;
  const auto batch = static_cast<double>(inputs.options.workload.loader.info().batch_size);
  const double step_ms = costs.step_ms + costs.image_ms * batch;
  return std::min(loads, step_ms > 0 ? 1e3 * batch / step_ms : 1e12);
}

double predicted(const std::optional<SimulationInputs>& inputs, const TuneCandidate& candidate) {
  if (!inputs) return 0;
  std::vector<std::string> options{"type=" + candidate.loader};
  if (candidate.loader != "sync") {
    options.push_back(fmt::format("workers={}", candidate.workers));
  }
  if (candidate.prefetch > 0) {
    options.push_back(fmt::format("prefetch_batches={}", candidate.prefetch));
  }
  try {
    if (candidate.loader == kResident) return device_rate(*inputs);
    if (modelled(candidate.loader)) {
      return simulate_steady(with_loader(*inputs, options)).images_per_s;
    }
  } catch (const Error&) {  // contradictions that only the simulation has
  }
  return crude_rate(*inputs, candidate.workers);
}

// Numbers of workers that are worth a prediction: up to twice those that the device, or a
// bottleneck, can keep at work.
std::vector<int64_t> worker_numbers(const std::optional<SimulationInputs>& inputs, int64_t cores,
                                    int64_t configured) {
  int64_t enough = cores;
  if (inputs) {
    try {
      const SimulationInputs ahead = with_loader(*inputs, {"type=prefetched"});
      const double demand = device_rate(ahead);
      enough = fewest_workers(ahead, workers_at_work(ahead, demand), demand).workers;
    } catch (const Error&) {
      enough = 2 * cores;
    }
  }
  std::set<int64_t> numbers{configured, enough, cores};
  for (const int64_t each : kWorkers) {
    if (each <= 2 * std::max(enough, cores)) numbers.insert(each);
  }
  return {numbers.begin(), numbers.end()};
}

uint64_t memory_of(const TuneCandidate& candidate, const TuneWay& way, const TuneData& data,
                   int64_t batch) {
  // One is at the device, and one is being filled.
  const uint64_t batches = static_cast<uint64_t>(candidate.prefetch + 2);
  uint64_t bytes = way.kept_bytes + batches * static_cast<uint64_t>(batch) * data.pixel_bytes +
                   static_cast<uint64_t>(candidate.workers) * kWorkerBytes;
  if (candidate.loader == kResident)
    bytes += static_cast<uint64_t>(data.samples) * data.pixel_bytes;
  return bytes;
}

std::vector<std::string> loader_types(const Component<Loader>& loader, const TuneWay& way,
                                      size_t number, const TuneMachine& machine) {
  const std::string own = loader.type();
  if (!modelled(own)) return {own};
  std::vector<std::string> types{"sync", "threaded", "prefetched"};
  if (machine.copies) types.emplace_back("device_prefetched");
  if (machine.may_stay && number == 0) types.emplace_back(kResident);
  if (way.kept_bytes > 0) types.erase(types.begin());  // of no use any more
  return types;
}

}  // namespace

std::optional<SimulationInputs> inputs_of(const TuneWay& way, const TuneMachine& machine) {
  if (!machine.inputs) return std::nullopt;
  SimulationInputs inputs = *machine.inputs;
  SimulatedWorkload& workload = inputs.options.workload;
  if (way.no_tier) {
    workload.data.tier.reset();
    workload.costs.read_ms = 0;
  }
  if (way.no_decoding) {
    workload.costs.read_ms = static_cast<double>(way.kept_bytes) /
                             static_cast<double>(workload.data.samples) / kKeptBytesPerMs;
    workload.costs.decode_ms = workload.costs.read_ms;
    workload.costs.core_share = 1;
  }
  return inputs;
}

SimulationInputs thinned(SimulationInputs inputs, int64_t samples) {
  SimulatedData& data = inputs.options.workload.data;
  if (data.samples <= samples || data.whole_files) return inputs;
  if (!inputs.sample_bytes.empty()) {
    std::vector<uint64_t> some;
    for (int64_t i = 0; i < samples; ++i) {
      some.push_back(inputs.sample_bytes[static_cast<size_t>(i * data.samples / samples)]);
    }
    inputs.sample_bytes = std::move(some);
  }
  data.samples = samples;
  return inputs;
}

TuneCandidate configured_candidate(const Component<Loader>& loader) {
  const LoaderInfo info = loader.info();
  TuneCandidate own;
  own.loader = loader.type();
  own.workers = std::max<int64_t>(1, info.workers);
  own.prefetch = makes_batches_ahead(own.loader) ? info.host_batches_ahead : 0;
  return own;
}

std::vector<TuneCandidate> candidates_of(const Component<Loader>& loader, const TuneWay& way,
                                         size_t number,
                                         const std::optional<SimulationInputs>& inputs,
                                         const TuneMachine& machine, const TuneData& data) {
  const TuneCandidate own = configured_candidate(loader);
  const int64_t batch = loader.info().batch_size;
  std::vector<TuneCandidate> all;
  const auto add = [&](const std::string& type, int64_t workers, int64_t prefetch) {
    TuneCandidate each{number, type, workers, prefetch};
    if (std::ranges::any_of(all, [&](const TuneCandidate& one) { return one.same(each); })) return;
    each.memory = memory_of(each, way, data, batch);
    const bool configured = number == 0 && each.same(own);
    if (each.memory > machine.memory && !configured) return;
    each.predicted = predicted(inputs, each);
    all.push_back(std::move(each));
  };
  const std::vector<int64_t> workers = worker_numbers(inputs, machine.cores, own.workers);
  const std::vector<int64_t> cores{machine.cores};
  for (const std::string& type : loader_types(loader, way, number, machine)) {
    const bool one = type == "sync";
    const bool few = type == kResident;  // they have work in the first epoch alone
    for (const int64_t count : one ? std::vector<int64_t>{1} : few ? cores : workers) {
      if (!makes_batches_ahead(type)) {
        add(type, count, 0);
        continue;
      }
      for (const int64_t prefetch : kPrefetch) add(type, count, prefetch);
    }
  }
  if (number == 0) add(own.loader, own.workers, own.prefetch);
  return all;
}

bool stays_on_device(const TuneCandidate& candidate) { return candidate.loader == kResident; }

std::vector<std::string> loader_overrides(const TuneCandidate& candidate) {
  std::vector<std::string> words{"loader.type=" + candidate.loader};
  if (candidate.loader != "sync") {
    words.push_back(fmt::format("loader.workers={}", candidate.workers));
  }
  if (candidate.prefetch > 0) {
    words.push_back(fmt::format("loader.prefetch_batches={}", candidate.prefetch));
  }
  return words;
}

}  // namespace stoker

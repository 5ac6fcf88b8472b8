#include "app/tools/tune/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/tools/simulate/steady.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr int64_t kWorkers[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
constexpr int64_t kMostPrefetch = 8;
// A copy of a decoded sample within memory, and its augmentation.
constexpr double kKeptBytesPerMs = 1.5e6;
// What a worker holds beside batches: a file, and an image of some megapixels.
constexpr uint64_t kWorkerBytes = 4'000'000;
// Those that are tried in the place of one another: all load any data set, in any order.
constexpr const char* kLoaders[] = {"sync", "threaded", "prefetched", "device_prefetched",
                                    "device_resident"};

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
  if (candidate.workers > 0) options.push_back(fmt::format("workers={}", candidate.workers));
  if (candidate.prefetch > 0) {
    options.push_back(fmt::format("prefetch_batches={}", candidate.prefetch));
  }
  try {
    if (candidate.stays) return device_rate(*inputs);
    return simulate_steady(with_loader(*inputs, options)).images_per_s;
  } catch (const Error&) {  // a loader, or a combination, that the simulation has no model of
  }
  return crude_rate(*inputs, std::max<int64_t>(1, candidate.workers));
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
  numbers.erase(0);  // the experiment's own loader has none
  return {numbers.begin(), numbers.end()};
}

uint64_t memory_of(const TuneCandidate& candidate, const TuneWay& way, const TuneData& data,
                   int64_t batch) {
  // One is at the device, and one is being filled.
  const uint64_t batches = static_cast<uint64_t>(candidate.prefetch + 2);
  uint64_t bytes = way.kept_bytes + batches * static_cast<uint64_t>(batch) * data.pixel_bytes +
                   static_cast<uint64_t>(std::max<int64_t>(1, candidate.workers)) * kWorkerBytes;
  if (candidate.stays) bytes += static_cast<uint64_t>(data.samples) * data.pixel_bytes;
  return bytes;
}

// The experiment's own loader, and others with its options that are of use for this way.
std::vector<Component<Loader>> loaders_for(const Component<Loader>& own, const TuneWay& way,
                                           const TuneMachine& machine) {
  if (!may_be_another(own)) return {own};
  std::vector<Component<Loader>> result;
  for (const char* type : kLoaders) {
    Component<Loader> each = changed(own, {std::string("type=") + type});
    const LoaderInfo info = each.info();
    const bool kept = way.kept_bytes > 0;
    if (info.resident && (!machine.may_stay || kept)) continue;
    if (!info.resident && info.device_batches_ahead > 0 && !machine.copies) continue;
    if (info.workers == 0 && kept) continue;  // of no use any more
    result.push_back(std::move(each));
  }
  return result;
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

bool may_be_another(const Component<Loader>& loader) {
  return std::ranges::find(kLoaders, loader.type()) != std::end(kLoaders);
}

TuneCandidate configured_candidate(const Component<Loader>& loader) {
  const LoaderInfo info = loader.info();
  TuneCandidate own;
  own.loader = loader.type();
  own.workers = info.workers;
  own.prefetch = info.host_batches_ahead;
  own.stays = info.resident;
  return own;
}

std::vector<TuneCandidate> candidates_of(const Component<Loader>& loader, const TuneWay& way,
                                         size_t number,
                                         const std::optional<SimulationInputs>& inputs,
                                         const TuneMachine& machine, const TuneData& data) {
  const TuneCandidate own = configured_candidate(loader);
  const int64_t batch = loader.info().batch_size;
  std::vector<TuneCandidate> all;
  const auto add = [&](TuneCandidate each) {
    each.way = number;
    if (std::ranges::any_of(all, [&](const TuneCandidate& one) { return one.same(each); })) return;
    each.memory = memory_of(each, way, data, batch);
    const bool configured = number == 0 && each.same(own);
    if (each.memory > machine.memory && !configured) return;
    each.predicted = predicted(inputs, each);
    all.push_back(std::move(each));
  };
  const std::vector<int64_t> many = worker_numbers(inputs, machine.cores, own.workers);
  for (const Component<Loader>& each : loaders_for(loader, way, machine)) {
    const LoaderInfo info = each.info();
    TuneCandidate candidate = configured_candidate(each);
    // Samples that stay give workers something to do in the first epoch alone.
    const std::vector<int64_t> few{info.workers == 0 ? 0 : machine.cores};
    for (const int64_t workers : info.workers == 0 || info.resident ? few : many) {
      candidate.workers = workers;
      add(candidate);
      if (info.host_batches_ahead == 0 || info.resident) continue;
      for (candidate.prefetch = 1; candidate.prefetch <= kMostPrefetch; candidate.prefetch *= 2) {
        add(candidate);
      }
      candidate.prefetch = info.host_batches_ahead;
    }
  }
  if (number == 0) add(own);
  return all;
}

std::vector<std::string> loader_overrides(const TuneCandidate& candidate) {
  std::vector<std::string> words{"loader.type=" + candidate.loader};
  if (candidate.workers > 0) words.push_back(fmt::format("loader.workers={}", candidate.workers));
  if (candidate.prefetch > 0) {
    words.push_back(fmt::format("loader.prefetch_batches={}", candidate.prefetch));
  }
  return words;
}

}  // namespace stoker

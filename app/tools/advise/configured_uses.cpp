#include "app/tools/advise/configured_uses.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "io/core/config/config.h"
#include "io/loader/sampler.h"

namespace stoker {
namespace {

// Epochs that are gone through sample by sample; further ones are like them.
constexpr int64_t kExactEpochs = 4;

// One reading of a whole object.
ReadPattern whole_object(uint64_t bytes, uint64_t piece, int64_t readers) {
  const auto size = static_cast<double>(bytes);
  if (piece == 0 || bytes == 0) return {1, 1, bytes > 0 ? 1.0 : 0.0, size};
  const double pieces = std::ceil(size / static_cast<double>(piece));
  // With n readers, the next request comes from another reader in n - 1 of n cases.
  const double others = 1 - 1 / static_cast<double>(readers);
  return {1, pieces + 1, 1 + (pieces - 1) * others, size};
}

class UseCounter {
 public:
  UseCounter(const Dataset& dataset, const ExperimentOptions& options, std::vector<ObjectUse>& uses,
             uint64_t piece, int64_t readers)
      : dataset_(dataset),
        whole_files_(options.dataset.info().whole_files ||
                     options.loader.info().order == SampleOrder::shards),
        uses_(uses),
        piece_(piece),
        readers_(readers) {
    for (size_t i = 0; i < uses.size(); ++i) places_[uses[i].key] = i;
  }

  // times[i]: how often sample i is read. order: places of first reads follow it.
  void add(Split split, const std::vector<double>& times, const std::vector<int64_t>& order) {
    std::vector<char> counted(uses_.size());
    for (const int64_t index : order) {
      SampleInfo info = dataset_.info(split, index);
      const bool own = info.object.empty();
      const auto found = places_.find(own ? info.key : info.object);
      if (found == places_.end()) continue;  // the data set keeps something else there
      ObjectUse& use = uses_[found->second];
      if (use.first < 0) use.first = next_++;
      const bool whole = own || whole_files_;
      if (whole && std::exchange(counted[found->second], 1) != 0) continue;
      const ReadPattern once = whole ? whole_object(use.bytes, piece_, readers_)
                                     : ReadPattern{1, 1, 1, static_cast<double>(info.bytes)};
      add(once, times[static_cast<size_t>(index)], use);
    }
  }

 private:
  static void add(const ReadPattern& once, double times, ObjectUse& use) {
    use.opens += times * once.opens;
    use.requests += times * once.requests;
    use.seeks += times * once.seeks;
    use.bytes_read += times * once.bytes_read;
  }

  const Dataset& dataset_;
  const bool whole_files_;
  std::vector<ObjectUse>& uses_;
  const uint64_t piece_;
  const int64_t readers_;
  std::unordered_map<std::string, size_t> places_;
  int64_t next_ = 0;
};

// How often each training sample is read in a number of epochs. `order` becomes the order of the
// first epoch.
std::vector<double> training_times(const Sampler& sampler, int64_t samples, double epochs,
                                   std::vector<int64_t>& order) {
  std::vector<double> times(static_cast<size_t>(samples));
  double left = epochs;
  for (int64_t epoch = 0; epoch < kExactEpochs && left > 0; ++epoch, left -= 1) {
    std::vector<int64_t> epoch_samples = sampler.order(epoch).samples;
    const double share = std::min(left, 1.0);
    const auto read =
        static_cast<size_t>(std::llround(share * static_cast<double>(epoch_samples.size())));
    for (size_t i = 0; i < read; ++i) times[static_cast<size_t>(epoch_samples[i])] += 1;
    if (epoch == 0)
      order.assign(epoch_samples.begin(), epoch_samples.begin() + static_cast<int64_t>(read));
    if (epoch + 1 == kExactEpochs && left > 1) {
      const double more = (left - 1) * static_cast<double>(epoch_samples.size()) /
                          static_cast<double>(std::max<int64_t>(samples, 1));
      for (double& count : times) count += more;
    }
  }
  return times;
}

}  // namespace

LoaderOptions loader_options(const Component<Loader>& loader) {
  const Node node = loader.dump();
  LoaderOptions options;
  FieldReader reader(Section(node, "", "loader", nullptr));
  options.visit(reader);
  return options;
}

PassCounts passes_of(const ExperimentOptions& options, int64_t steps_per_epoch) {
  const TrainingOptions& training = options.training;
  PassCounts passes{static_cast<double>(training.epochs), 0};
  if (training.max_steps && steps_per_epoch > 0) {
    passes.epochs = std::min(passes.epochs, static_cast<double>(*training.max_steps) /
                                                static_cast<double>(steps_per_epoch));
  }
  const EvaluationOptions& evaluation = options.evaluation;
  if (!evaluation.enabled || options.device.info().emulated) return passes;
  const auto whole = static_cast<int64_t>(passes.epochs);
  const int64_t every = evaluation.every_epochs.value_or(0);
  passes.evaluations = every > 0 ? whole / every : 0;
  const bool last_counts =
      every > 0 && passes.epochs == static_cast<double>(whole) && whole % every == 0 && whole > 0;
  if (!last_counts) ++passes.evaluations;
  return passes;
}

std::vector<ObjectUse> configured_uses(const ExperimentOptions& options, const Dataset& dataset,
                                       const std::vector<ObjectInfo>& listing, uint64_t read_piece,
                                       int64_t readers) {
  std::vector<ObjectUse> uses;
  for (const ObjectInfo& object : listing) {
    if (object.key.ends_with('/')) continue;
    ObjectUse use;
    use.key = object.key;
    use.bytes = object.bytes;
    uses.push_back(std::move(use));
  }
  const Sampler sampler(loader_options(options.loader), Shard{}, dataset, Split::train,
                        options.run.seed);
  PassCounts passes = passes_of(options, sampler.batches());
  // What stays in memory is read once: on the device, or in a data set around another one.
  const bool once = options.loader.info().resident || options.dataset.inner();
  if (once) passes.epochs = std::min(passes.epochs, 1.0);
  UseCounter counter(dataset, options, uses, read_piece, readers);
  std::vector<int64_t> order;
  const std::vector<double> times =
      training_times(sampler, dataset.size(Split::train), passes.epochs, order);
  std::vector<char> in_order(times.size());
  for (const int64_t index : order) in_order[static_cast<size_t>(index)] = 1;
  for (size_t i = 0; i < times.size(); ++i) {  // those that only a later epoch reads
    if (in_order[i] == 0 && times[i] > 0) order.push_back(static_cast<int64_t>(i));
  }
  counter.add(Split::train, times, order);
  if (passes.evaluations > 0) {
    const auto tests = static_cast<size_t>(dataset.size(Split::test));
    order.resize(tests);
    for (size_t i = 0; i < tests; ++i) order[i] = static_cast<int64_t>(i);
    counter.add(Split::test,
                std::vector<double>(tests, once ? 1.0 : static_cast<double>(passes.evaluations)),
                order);
  }
  return uses;
}

}  // namespace stoker

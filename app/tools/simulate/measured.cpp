#include "app/tools/simulate/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "app/experiment/experiment_options.h"
#include "app/tools/report/run_files.h"
#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/experiment/experiment_data.h"
#include "io/storage/emulated/emulated.h"

namespace stoker {
namespace {

// The inputs, key by key.
class Inputs {
 public:
  Inputs(const std::string& directory, const nlohmann::json& summary)
      : directory_(directory), summary_(summary) {}

  // source: the origin of each value in it.
  void put(const std::string& key, Node value, const std::string& source) {
    stamp(value, {std::make_shared<const std::string>(directory_ + "/" + source), 0, 0});
    Node* at = &tree_;
    for (size_t begin = 0; begin <= key.size();) {
      const size_t end = std::min(key.find('.', begin), key.size());
      at = &member(*at, key.substr(begin, end - begin));
      begin = end + 1;
    }
    *at = std::move(value);
  }
  void put(const std::string& key, const std::string& value, const std::string& source) {
    put(key, Node::text(value), source);
  }
  void put(const std::string& key, double value, const std::string& figure) {
    const bool whole = value == std::round(value);
    put(key, whole ? fmt::format("{:.0f}", value) : fmt::format("{}", value),
        "summary.json: " + figure);
  }
  // An absent one is 0.
  double figure(const std::string& path) const { return number_at(summary_, path).value_or(0); }
  double mean(const std::string& histogram) const { return figure(histogram + ".mean"); }
  const nlohmann::json& object(const std::string& path) const { return member_at(summary_, path); }
  Node take() { return std::move(tree_); }

 private:
  static void stamp(Node& node, const Position& at) {
    node.at = at;
    for (Node& item : node.items) stamp(item, at);
    for (Node::Entry& entry : node.entries) stamp(entry.value, entry.at = at);
  }
  // Made where it is absent.
  static Node& member(Node& mapping, const std::string& key) {
    const auto found = std::ranges::find(mapping.entries, key, &Node::Entry::key);
    if (found != mapping.entries.end()) return found->value;
    return mapping.entries.emplace_back(Node::Entry{key, {}, Node::map()}).value;
  }

  const std::string directory_;
  const nlohmann::json& summary_;
  Node tree_ = Node::map();
};

constexpr const char* kConfig = "config.yaml";

double whole(double value) { return std::round(value); }

// Operations of a tier: their number, and seconds of all.
struct Operations {
  double count = 0, seconds = 0;
};
Operations operations(const nlohmann::json& tier, bool moving) {
  Operations sum;
  for (const auto& [name, op] : tier.items()) {
    if (!op.is_object() || !op.contains("duration_s")) continue;
    if ((name == "read" || name == "write") != moving) continue;
    sum.count += number_at(op, "duration_s.count").value_or(0);
    sum.seconds += number_at(op, "duration_s.sum").value_or(0);
  }
  return sum;
}

// An emulated tier has its figures. For any other, the times of its operations are used.
void put_tier(Inputs& inputs, const std::string& name, const Component<Storage>& tier) {
  const std::string key = "machine.storage." + name;
  if (const auto* emulated = tier.options<EmulatedOptions>()) {
    Node node = dump_struct(emulated->figures);
    for (Node::Entry& entry : dump_struct(emulated->layout).entries) {
      node.entries.push_back(std::move(entry));
    }
    return inputs.put(key, node, kConfig);
  }
  const std::string of = "tiers." + name;
  const auto rate = [&](const std::string& op) {
    const double rate = inputs.figure(of + "." + op + ".busy_mb_per_s");
    return rate > 0 ? rate : 1e5;  // not used by the run
  };
  inputs.put(key + ".read_mb_per_s", rate("read"), of + ".read.busy_mb_per_s");
  inputs.put(key + ".write_mb_per_s", rate("write"), of + ".write.busy_mb_per_s");
  const Operations still = operations(inputs.object(of), false);
  if (still.count > 0) {
    inputs.put(key + ".metadata_latency_ms", 1e3 * still.seconds / still.count, of);
    inputs.put(key + ".queue_depth", std::string("64"), "(a tier of this machine's own)");
  }
}

// How many samples lie in how many files that they share; 0: each has one of its own.
struct Listed {
  int64_t samples = 0, files = 0;
};

// The samples and the size of each, by the data set.
Listed put_listed(Inputs& inputs, const ExperimentOptions& options, std::vector<uint64_t>& sizes) {
  const ExperimentData data(options, {});
  const Dataset& dataset = data.dataset();
  const int64_t samples = dataset.size(Split::train);
  int64_t files = 0;
  for (int64_t i = 0; i < samples; ++i) {
    const SampleInfo info = dataset.info(Split::train, i);
    sizes.push_back(info.bytes);
    files = std::max(files, info.file + 1);
  }
  const auto sum = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}));
  inputs.put("workload.data.samples", fmt::format("{}", samples), kConfig);
  inputs.put("workload.data.sample_bytes",
             fmt::format("{:.0f}", sum / static_cast<double>(samples)), "(the data set's sizes)");
  if (std::ranges::adjacent_find(sizes, std::not_equal_to()) == sizes.end()) sizes.clear();
  if (files > 0) {
    const int64_t each = (samples + files - 1) / files;
    inputs.put("workload.data.samples_per_file", fmt::format("{}", each), kConfig);
  }
  return {samples, files};
}

// The same by what was read: as many samples as that were, of one size.
void put_seen(Inputs& inputs, const ExperimentOptions& options) {
  const double reads = inputs.figure("loaders.train.stages.read.duration_s.count");
  const double least = static_cast<double>(options.loader.info().batch_size);
  inputs.put("workload.data.samples", fmt::format("{:.0f}", std::max(reads, least)),
             "loaders.train.stages.read");
  const double bytes = inputs.figure("loaders.train.read_bytes");
  inputs.put("workload.data.sample_bytes", fmt::format("{:.0f}", reads > 0 ? bytes / reads : 0),
             "loaders.train.read_bytes");
}

// Returns the seconds of all workers in read_ms and decode_ms.
double put_data(Inputs& inputs, const ExperimentOptions& options, const Listed& listed) {
  const DatasetInfo info = options.dataset.info();
  if (info.whole_files) inputs.put("workload.data.whole_files", std::string("true"), kConfig);
  inputs.put("workload.costs.decode_ms",
             1e3 * inputs.mean("loaders.train.stages.decode.duration_s"),
             "loaders.train.stages.decode");
  const double read_s = inputs.mean("loaders.train.stages.read.duration_s");
  const std::string& tier = info.tier;
  const double decoded = inputs.figure("loaders.train.stages.decode.duration_s.sum");
  if (tier.empty() || !options.storage.at(tier).info().emulated) {
    inputs.put("workload.costs.read_ms", 1e3 * read_s, "loaders.train.stages.read");
    return decoded + inputs.figure("loaders.train.stages.read.duration_s.sum");
  }
  const double read = inputs.figure("loaders.train.stages.read.duration_s.count");
  const bool by_files = info.whole_files && listed.files > 0;
  const double files_read =
      by_files ? read / static_cast<double>(listed.samples) * static_cast<double>(listed.files)
               : read;
  const std::string of = "tiers." + tier;
  const Operations moving = operations(inputs.object(of), true);
  inputs.put("workload.data.tier", tier, kConfig);
  inputs.put("workload.data.requests", std::max(1.0, whole(moving.count / files_read)),
             of + ".read");
  // By objects it is opened within the read.
  const double opened = inputs.figure(of + ".open.duration_s.count");
  inputs.put("workload.data.metadata", whole(opened / files_read), of + ".open");
  const double beside =
      read_s - (moving.seconds + inputs.figure(of + ".open.duration_s.sum")) / read;
  inputs.put("workload.costs.read_ms", 1e3 * std::max(0.0, beside),
             "loaders.train.stages.read - " + of);
  return decoded + std::max(0.0, beside) * read;
}

// An option of the device, if it has one of this key.
std::optional<std::string> device_option(const ExperimentOptions& options, const char* key) {
  const Node node = options.device.dump();
  const Node* value = node.find(key);
  if (value == nullptr || value->kind != Node::Kind::scalar) return std::nullopt;
  return value->scalar;
}

void put_step(Inputs& inputs, const ExperimentOptions& options, bool on_host) {
  const double steps = inputs.figure("step_duration_s.count");
  const bool emulated = options.device.info().emulated;
  const double busy_ms = 1e3 * inputs.figure("device.busy_s") / steps;
  if (emulated && device_option(options, "step_ms")) {
    inputs.put("workload.costs.step_ms", busy_ms, "device.busy_s / steps");
  } else {
    const double images = inputs.figure("images") / steps;
    inputs.put("workload.costs.image_ms", busy_ms / images, "device.busy_s / images");
  }
  const double host = inputs.figure("segments_s.other") + inputs.figure("segments_s.log") +
                      inputs.figure("segments_s.h2d");
  inputs.put("workload.costs.host_ms", 1e3 * host / steps, "segments_s.other + log + h2d");
  if (!on_host) {
    inputs.put("workload.costs.copy_ms", 1e3 * inputs.figure("device.copy_s") / steps,
               "device.copy_s / steps");
  }
  if (const auto depth = device_option(options, "queue_depth")) {
    inputs.put("workload.costs.queue_depth", *depth, kConfig);
  }
  const std::pair<const char*, const char*> kNetwork[] = {{"allreduce_gb_per_s", "gb_per_s"},
                                                          {"allreduce_latency_us", "latency_us"},
                                                          {"allreduce_overlap", "overlap"}};
  for (const auto& [option, key] : kNetwork) {
    if (const auto value = device_option(options, option)) {
      inputs.put(std::string("machine.network.") + key, *value, kConfig);
    }
  }
}

// What the threads did, and how much of it was computing. The rest is waiting: for a file, for a
// core that another process had, or for an emulation's time to pass.
void put_cores(Inputs& inputs, const nlohmann::json& environment, double loading, bool on_host) {
  inputs.put("machine.cores", number_at(environment, "cpu.cores").value_or(1),
             "environment.json: cpu.cores");
  const double threads = on_host ? number_at(environment, "threads").value_or(1) : 0;
  if (on_host) inputs.put("workload.costs.step_cores", threads, "environment.json: threads");
  const double busy =
      loading + threads * (inputs.figure("device.busy_s") + inputs.figure("segments_s.eval"));
  const double computed = inputs.figure("process.cores") * inputs.figure("wall_s");
  if (busy == 0 || computed == 0) return;
  inputs.put("workload.costs.core_share", std::min(1.0, computed / busy),
             "process.cores * wall_s / (read_ms, decode_ms and steps)");
}

void put_checkpoints(Inputs& inputs, const ExperimentOptions& options) {
  const CheckpointerInfo info = options.checkpoint.info();
  if (!info.saves) return;
  inputs.put("workload.checkpoint", options.checkpoint.dump(), kConfig);
  for (const std::string& tier : info.tiers) put_tier(inputs, tier, options.storage.at(tier));
  const double bytes = inputs.figure("checkpoints.set_bytes");
  const double saved = inputs.figure("checkpoints.saved");
  if (bytes == 0 || saved == 0) return;
  inputs.put("workload.set.bytes", fmt::format("{:.0f}", bytes),
             "summary.json: checkpoints.set_bytes");
  const double copy_s = inputs.mean("checkpoints.parts.snapshot.duration_s");
  const double copy_rate = std::clamp(1e-6 * bytes / copy_s, 1.0, 1e7);
  inputs.put("workload.set.snapshot_mb_per_s", copy_rate, "checkpoints.parts.snapshot");
  const std::string first = info.written.front();
  const Operations still = operations(inputs.object("tiers." + first), false);
  const Operations moving = operations(inputs.object("tiers." + first), true);
  const double each = std::max(9.0, whole(still.count / saved));
  inputs.put("workload.set.operations", each, "tiers." + first);
  const double write_s = inputs.mean("checkpoints.parts.write.duration_s");
  const double tier_s = (still.seconds + moving.seconds) / saved;
  inputs.put("workload.set.overhead_ms", 1e3 * std::max(0.0, write_s - tier_s),
             "checkpoints.parts.write - tiers." + first);
}

}  // namespace

MeasuredInputs measured_inputs(const std::string& directory, SampleSizes sizes) {
  const RunFiles run = read_run(directory);
  const ExperimentOptions options = read_experiment(run.path(kConfig), {});
  return using_files_of({directory}, [&] {
    Inputs inputs(directory, run.summary);
    if (inputs.figure("step_duration_s.count") == 0) {
      throw Error(ExitCode::data,
                  directory + ": the run made no step: there is nothing to simulate by");
    }
    MeasuredInputs measured;
    inputs.put("workload.seed", fmt::format("{}", options.run.seed), kConfig);
    inputs.put("workload.epochs", fmt::format("{}", options.training.epochs), kConfig);
    if (options.training.max_steps) {
      inputs.put("workload.max_steps", fmt::format("{}", *options.training.max_steps), kConfig);
    }
    inputs.put("workload.loader", options.loader.dump(), kConfig);
    if (options.loader.info().workers > 0) {
      inputs.put("workload.loader.workers", inputs.figure("loaders.train.workers"),
                 "loaders.train.workers");
    }
    const std::string tier = options.dataset.info().tier;
    if (!tier.empty() && options.storage.at(tier).info().emulated) {
      put_tier(inputs, tier, options.storage.at(tier));
    }
    Listed listed;
    if (sizes == SampleSizes::own) {
      listed = put_listed(inputs, options, measured.sample_bytes);
    } else {
      put_seen(inputs, options);
    }
    const double loading = put_data(inputs, options, listed);
    const nlohmann::json& timing = member_at(run.environment, "device.timing_method");
    const bool on_host = timing.is_string() && timing == "host";
    put_step(inputs, options, on_host);
    put_cores(inputs, run.environment, loading, on_host);
    put_checkpoints(inputs, options);
    inputs.put("machine.ranks_per_node", inputs.figure("world_size"), "world_size");
    measured.tree = inputs.take();
    return measured;
  });
}

}  // namespace stoker

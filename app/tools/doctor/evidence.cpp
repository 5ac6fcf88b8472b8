#include "app/tools/doctor/evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/dataset/dataset.h"
#include "io/loader/loader.h"
#include "io/storage/cached/cached.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr double kFellBehind = 0.1;  // share of the time of reads, beyond what the model says

double number(const Json& tree, std::string_view path) { return number_at(tree, path).value_or(0); }

void add_device(const Json& summary, Evidence& e) {
  e.on_host = member_at(summary, "device.timing_method").is_null() ||
              member_at(summary, "device.timing_method") == "host";
  e.eval_s = number(summary, "segments_s.eval");
  e.log_s = number(summary, "segments_s.log");
  e.total_s = number(summary, "device.observed_s");
  e.device_observed = e.total_s > 0;
  e.busy_s = number(summary, "device.busy_s");
  e.copy_s = number(summary, "device.copy_s");
  e.data_s = number(summary, "device.idle_s.data");
  e.h2d_s = number(summary, "device.idle_s.h2d");
  e.checkpoint_s = number(summary, "device.idle_s.checkpoint");
  e.peers_s = number(summary, "device.idle_s.peers");
  e.host_s = number(summary, "device.idle_s.host");
  if (e.device_observed) return;
  e.total_s = e.wall_s - number(summary, "segments_s.paused");
  e.busy_s = number(summary, "segments_s.compute");
  e.data_s = number(summary, "segments_s.data_wait");
  e.h2d_s = number(summary, "segments_s.h2d");
  e.checkpoint_s = number(summary, "segments_s.checkpoint_stall");
  e.host_s = e.eval_s + e.log_s + number(summary, "segments_s.other");
}

// An empty component if the run has no such section, or if its type is of a plug-in, which is not
// loaded here.
template <class T>
Component<T> component(const Node* node) {
  if (node == nullptr) return {};
  try {
    return parse_component<T>(*node);
  } catch (const Error&) {
    return {};
  }
}

void add_source(const Json& summary, Evidence& e) {
  const Component<Dataset> dataset = component<Dataset>(e.config.find("dataset"));
  e.tier = dataset ? dataset.info().tier : setting(e.config, "dataset.storage");
  const Node* tiers = e.config.find("storage");
  Component<Storage> tier = component<Storage>(tiers == nullptr ? nullptr : tiers->find(e.tier));
  e.keeps_copies = tier && tier.info().keeps_copies;
  e.source = e.tier;
  while (tier && tier.info().keeps_copies) {
    if (tier.options<CachedOptions>() != nullptr) e.source += ".inner";
    tier = tier.inner();
  }
  static const Json kNone;
  const Json& tiers_seen = member_at(summary, "tiers");
  const Json& record = tiers_seen.contains(e.source) ? tiers_seen[e.source] : kNone;
  e.source_type = tier ? tier.type() : setting(e.config, "storage." + e.tier + ".type");
  e.source_bytes = number(record, "read.bytes");
  e.source_busy_s = number(record, "read.busy_s");
  if (e.source_bytes <= 0 || e.source_busy_s <= 0) {  // mapped files, or an old record
    e.source_bytes = e.read_bytes;
    e.source_busy_s = std::min(e.read_s, e.wall_s);
  }
  if (tier) e.source_mb_per_s = tier.info().read_mb_per_s;
  e.fell_behind = e.source_mb_per_s &&
                  number(record, "overrun_s") > kFellBehind * number(record, "read.duration_s.sum");
}

void add_loader(const Json& summary, Evidence& e) {
  e.loader = setting(e.config, "loader.type");
  if (const auto loader = component<Loader>(e.config.find("loader"))) {
    const LoaderInfo info = loader.info();
    e.works_ahead = info.works_ahead() || info.resident;
    e.copies_ahead = info.device_batches_ahead > 0;
    e.has_workers = info.workers > 0;
  }
  e.workers = whole_setting(e.config, "loader.workers").value_or(counted(e.cores));
  e.batch_size = whole_setting(e.config, "loader.batch_size").value_or(1);
  const Json& loader = member_at(summary, "loaders.train");
  e.read_s = number(loader, "stages.read.duration_s.sum");
  e.decode_s = number(loader, "stages.decode.duration_s.sum");
  e.wait_s = number(loader, "stages.wait.duration_s.sum");
  e.reads = number(loader, "stages.read.duration_s.count");
  e.read_bytes = number(loader, "read_bytes");
  add_source(summary, e);
  // The first batch of a loader that works ahead finds an empty pipeline, once a run.
  if (e.works_ahead) {
    e.fill_s = std::min(number(summary, "first_batch_s"), e.data_s);
    e.data_s -= e.fill_s;
  }
}

void add_epochs(const Table& steps, Evidence& e) {
  const Table::Column& epoch = steps.column("epoch");
  const Table::Column& wait = steps.column("segments_s.data_wait");
  const Table::Column& step = steps.column("steps");
  std::array<double, 2> waited{}, count{};
  double before = 0, waited_before = 0;
  std::optional<double> first;
  for (size_t i = 0; i < std::min({epoch.size(), wait.size(), step.size()}); ++i) {
    if (!epoch[i] || !wait[i] || !step[i]) continue;
    if (!first) first = epoch[i];
    const size_t later = *epoch[i] > *first ? 1 : 0;
    waited[later] += *wait[i] - waited_before;
    waited_before = *wait[i];
    count[later] += *step[i] - before;
    before = *step[i];
  }
  if (count[0] <= 0 || count[1] <= 0) return;
  e.first_epoch_steps = count[0];
  e.first_epoch_wait_s = waited[0] / count[0];
  e.later_wait_s = waited[1] / count[1];
}

void add_cpu(const Json& summary, Evidence& e) {
  e.own_cores = number_at(summary, "process.cores");
  const auto all = number_at(summary, "system.busy_cores");
  if (e.own_cores && all) e.others_cores = std::max(0.0, *all - *e.own_cores);
}

}  // namespace

std::string setting(const Node& config, const std::string& path) {
  const Node* node = &config;
  for (size_t at = 0; node != nullptr && at <= path.size();) {
    const size_t end = std::min(path.find('.', at), path.size());
    node = node->find(path.substr(at, end - at));
    at = end + 1;
  }
  return node == nullptr ? "" : node->scalar;
}

std::optional<int64_t> whole_setting(const Node& config, const std::string& path) {
  constexpr int64_t kMost = 1'000'000'000'000;
  int64_t value = 0;
  const bool whole = parse_number(setting(config, path), value) && value >= 0 && value <= kMost;
  return whole ? std::optional(value) : std::nullopt;
}

int64_t counted(double value) {
  return std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(value, -1e15, 1e15));
}

double Evidence::production_s() const {
  const double shared = (read_s + decode_s) / static_cast<double>(std::max<int64_t>(1, workers));
  if (!source_mb_per_s) return shared;
  return std::max(shared, 1e-6 * std::min(read_bytes, source_bytes) / *source_mb_per_s);
}

Evidence gather(const RunFiles& run) {
  const Json& summary = run.summary;
  Evidence e;
  e.config = parse_yaml(run.config, run.path("config.yaml"));
  e.status = summary.value("status", "");
  e.error = summary.value("error", "");
  e.steps = counted(number(summary, "steps") - number(summary, "resumed.step"));
  e.images = counted(number(summary, "images"));
  e.wall_s = number(summary, "wall_s");
  e.cores = std::max(1.0, number(run.environment, "cpu.cores"));
  const Node* checkpoint = e.config.find("checkpoint");
  if (const auto known = component<Checkpointer>(checkpoint)) e.checkpoint = known.info();
  if (checkpoint == nullptr) e.checkpoint.saves = false;
  add_device(summary, e);
  add_loader(summary, e);
  add_epochs(run.steps, e);
  add_cpu(summary, e);
  e.measuring_s = number(summary, "overhead_share") * e.wall_s;
  for (const auto& [reason, count] : member_at(summary, "skipped").items()) {
    e.skipped += count.get<double>();
  }
  return e;
}

}  // namespace stoker

#include "io/metrics/verdict/evidence.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/core/config/config.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr double kBusyCores = 0.75;       // of the machine: whoever wants more gets little
constexpr double kOthersInTheWay = 0.25;  // likewise
constexpr double kAllItMay = 0.9;         // of the cores that it may use: a limit, and not others
constexpr double kFellBehind = 0.1;       // share of the time of reads, beyond what the model says

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

void add_source(const Json& record, Evidence& e) {
  static const Json kNone;
  const Json& tiers = member_at(record, "tiers");
  const Json& source = tiers.contains(e.source) ? tiers[e.source] : kNone;
  e.source_bytes = number(source, "read.bytes");
  e.source_busy_s = number(source, "read.busy_s");
  if (e.source_bytes <= 0 || e.source_busy_s <= 0) {  // mapped files
    e.source_bytes = e.read_bytes;
    e.source_busy_s = std::min(e.read_s, e.wall_s);
  }
  e.fell_behind = e.source_mb_per_s &&
                  number(source, "overrun_s") > kFellBehind * number(source, "read.duration_s.sum");
  const double own = std::max(1.0, number(record, "local_ranks"));
  for (const auto& [name, tier] : tiers.items()) {
    const double strangers = number(tier, "processes") - own;
    if (strangers <= e.strangers) continue;
    e.strangers = strangers;
    e.shared_tier = name;
  }
}

void add_loader(const Json& summary, Evidence& e) {
  e.loader = setting(e.config, "loader.type");
  e.workers = whole_setting(e.config, "loader.workers")
                  .value_or(counted(
                      number_at(summary, "loaders.train.workers").value_or(std::ceil(e.cores))));
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

void add_epochs(const Json& record, Evidence& e) {
  e.first_epoch_steps = number(record, "first_epoch.steps");
  const double waited = number(record, "first_epoch.data_wait_s");
  const double later = static_cast<double>(e.steps) - e.first_epoch_steps;
  if (e.first_epoch_steps <= 0 || later <= 0) return;
  e.first_epoch_wait_s = waited / e.first_epoch_steps;
  e.later_wait_s = (number(record, "segments_s.data_wait") - waited) / later;
}

void add_cpu(const Json& summary, Evidence& e) {
  e.cores = number_at(summary, "process.usable_cores").value_or(1);
  e.machine_cores = std::max(e.cores, number(summary, "system.cores"));
  e.own_cores = number_at(summary, "process.cores");
  e.waiting_threads = number_at(summary, "process.waiting_threads");
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

// Whoever sleeps in a decoder, or waits for a tier, wants no core.
bool Evidence::starved() const {
  return waiting_threads.value_or(cores) >= kOthersInTheWay * cores;
}

bool Evidence::limited() const {
  return waiting_threads && starved() && own_cores.value_or(0) >= kAllItMay * cores;
}

bool Evidence::crowded() const {
  if (!others_cores || !starved() || limited()) return false;
  const double busy = *own_cores + *others_cores;
  return busy >= kBusyCores * machine_cores && *others_cores > kOthersInTheWay * machine_cores;
}

double Evidence::free_cores() const {
  if (!own_cores) return std::max(0.0, cores - static_cast<double>(workers));
  const double taken = starved() ? others_cores.value_or(0) : 0;
  return std::max(0.0, std::min(cores - *own_cores, machine_cores - *own_cores - taken));
}

void to_json(Json& json, const RunPlan& plan) {
  json = {{"works_ahead", plan.works_ahead},   {"copies_ahead", plan.copies_ahead},
          {"has_workers", plan.has_workers},   {"tier", plan.tier},
          {"keeps_copies", plan.keeps_copies}, {"source", plan.source},
          {"source_type", plan.source_type},   {"saves", plan.saves},
          {"written", plan.written},           {"snapshot", plan.snapshot}};
  if (plan.source_mb_per_s) json["source_mb_per_s"] = *plan.source_mb_per_s;
}

void from_json(const Json& json, RunPlan& plan) {
  const auto read = [&](const char* name, auto& member) { member = json.value(name, member); };
  read("works_ahead", plan.works_ahead);
  read("copies_ahead", plan.copies_ahead);
  read("has_workers", plan.has_workers);
  read("tier", plan.tier);
  read("keeps_copies", plan.keeps_copies);
  read("source", plan.source);
  read("source_type", plan.source_type);
  plan.source_mb_per_s = number_at(json, "source_mb_per_s");
  read("saves", plan.saves);
  read("written", plan.written);
  read("snapshot", plan.snapshot);
}

Evidence gather(const Json& record, const Node& config) {
  Evidence e;
  if (const Json& plan = member_at(record, "plan"); plan.is_object()) from_json(plan, e);
  e.config = config;
  e.status = record.value("status", "");
  e.error = record.value("error", "");
  e.steps = counted(number(record, "steps") - number(record, "resumed.step"));
  e.images = counted(number(record, "images"));
  e.wall_s = number(record, "wall_s");
  add_cpu(record, e);
  add_device(record, e);
  add_loader(record, e);
  add_epochs(record, e);
  e.measuring_s = number(record, "overhead_share") * e.wall_s;
  for (const auto& [reason, count] : member_at(record, "loaders.train.skipped").items()) {
    e.skipped += count.get<double>();
  }
  return e;
}

}  // namespace stoker

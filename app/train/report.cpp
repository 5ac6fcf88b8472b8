#include "app/train/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "app/base/json.h"
#include "app/base/statistics.h"
#include "app/train/io_report.h"
#include "io/metrics/hub.h"
#include "io/metrics/ledger.h"
#include "io/metrics/verdict.h"

namespace stoker {
namespace {

nlohmann::json to_object(const std::vector<std::pair<std::string, double>>& pairs) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : pairs) object[name] = value;
  return object;
}

nlohmann::json device_json(const DeviceInfo& device, const TrainingResult& result) {
  nlohmann::json json = {{"name", device.name},
                         {"emulated", device.emulated},
                         {"timing_method", device.timing_method}};
  if (result.device_observed_s > 0) {
    json["observed_s"] = result.device_observed_s;
    json["busy_s"] = result.device_busy_s;
    json["copy_s"] = result.device_copy_s;
    json["idle_s_by_cause"] = to_object(result.device_idle);
    json["idle_ratio"] = 1 - result.device_busy_s / result.device_observed_s;
  }
  if (result.au) json["au"] = *result.au;
  return json;
}

// The device's time lost because data were late; where the device was not observed, the trainer's.
double data_share(const TrainingResult& result) {
  if (result.device_observed_s <= 0 || result.device_idle.empty()) return result.io_share;
  return result.device_idle.front().second / result.device_observed_s;
}

std::string verdict(const TrainingResult& result) {
  const double share = data_share(result);
  if (share < kModerateShare) return "not input-bound";
  return share < kBoundShare ? "moderately input-bound" : "input-bound";
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string device_text(const DeviceInfo& device, const TrainingResult& result) {
  if (result.device_observed_s <= 0) return "";
  std::string text = fmt::format("  device idle {:.1f} %",
                                 100 - percent(result.device_busy_s, result.device_observed_s));
  for (const auto& [cause, time] : result.device_idle) {
    text += fmt::format(", {} {:.1f} %", cause, percent(time, result.device_observed_s));
  }
  if (result.au) text += fmt::format("; AU {:.1f} %", 100 * *result.au);
  return text + fmt::format("  ({}, timing: {})\n", device.name, device.timing_method);
}

std::string accuracy_text(const TrainingResult& result) {
  if (result.evaluations.empty()) return "";
  const Evaluation& last = result.evaluations.back();
  const Accuracy& accuracy = last.accuracy;
  return fmt::format(
      "  accuracy on {} held-out images: top-1 {:.1f} %, top-5 {:.1f} %, mean per class {:.1f} %\n"
      "    (chance {:.1f} %, always guessing the largest class {:.1f} %)\n",
      accuracy.samples(), 100 * accuracy.top1(), 100 * accuracy.top5(),
      100 * accuracy.mean_per_class(), 100 * accuracy.chance(), 100 * accuracy.largest_class());
}

std::string segments_text(const TrainingResult& result) {
  std::string text = "  time of the trainer:";
  for (const auto& [segment, time] : result.segments) {
    text += fmt::format(" {} {:.1f} %", segment, percent(time, result.wall_s));
  }
  return text + fmt::format("; closure error {:.4f} %\n", 100 * result.closure_error);
}

nlohmann::json cache_json(Experiment& experiment) {
  const CacheEvidence cache = experiment.hub().run().state().cache;
  const LoaderMeter::State loader = experiment.hub().train_loader().state();
  const CacheVerdict verdict = judge_cache(cache, loader);
  nlohmann::json json = {{"verdict", to_string(verdict.level)},
                         {"text", verdict.text},
                         {"asked_bytes", loader.stages[static_cast<size_t>(Stage::read)].bytes}};
  if (loader.storage_bytes) json["storage_bytes"] = *loader.storage_bytes;
  if (cache.wanted != PageCache::as_is) json["wanted"] = to_string(cache.wanted);
  if (const std::string missed = missed_page_cache(cache); !missed.empty()) json["missed"] = missed;
  if (cache.resident_before) json["resident_before"] = *cache.resident_before;
  if (cache.resident) json["resident_after"] = *cache.resident;
  return json;
}

// What the loaders' threads did, summed over them, from their first batch on.
nlohmann::json loader_json(const LoaderMeter::State& loader) {
  nlohmann::json json = {{"stages", nlohmann::json::object()}};
  for (size_t i = 0; i < kStages; ++i) {
    const Tally::Totals& stage = loader.stages[i];
    json["stages"][stage_name(static_cast<Stage>(i))] = {
        {"count", stage.count}, {"seconds", stage.seconds()}, {"bytes", stage.bytes}};
  }
  for (const QueueMeter::State& queue : loader.queues) {
    if (queue.observed_s <= 0) continue;
    json["queues"][queue.name] = {{"capacity", queue.capacity},
                                  {"mean_items", queue.item_seconds / queue.observed_s},
                                  {"empty_share", queue.empty_s / queue.observed_s},
                                  {"full_share", queue.full_s / queue.observed_s}};
  }
  return json;
}

nlohmann::json total_json(const TrainingResult& result) {
  const TrainingRecord& total = result.total;
  nlohmann::json json = {{"processes", total.processes},   {"steps", result.steps},
                         {"images", total.images},         {"wall_s", total.wall_s},
                         {"segments_s", total.segments_s}, {"bytes_read", total.bytes_read}};
  if (!total.digest_chain.empty()) json["digest_chain"] = total.digest_chain;
  return json;
}

nlohmann::json checkpoints_json(const TrainingResult& result) {
  const CheckpointStatus& status = *result.checkpoints;
  nlohmann::json json = {{"saved", status.saved},
                         {"failed", status.failed},
                         {"skipped", status.skipped},
                         {"replaced", status.replaced},
                         {"drained", status.drained},
                         {"drain_retries", status.drain_retries},
                         {"drains_left", status.drains_left},
                         {"degraded", status.degraded},
                         {"set_bytes", status.set_bytes},
                         {"flush_s", result.checkpoint_flush_s}};
  if (status.saved_step) json["saved_step"] = *status.saved_step;
  if (status.durable_step) {
    json["durable_step"] = *status.durable_step;
    json["steps_at_risk"] = result.steps - *status.durable_step;
  }
  if (!status.save_s.empty()) json["save_s"] = spread(status.save_s);
  if (!status.drain_s.empty()) json["drain_s"] = spread(status.drain_s);
  if (!status.last_error.empty()) json["last_error"] = status.last_error;
  return json;
}

std::string checkpoints_text(const ExperimentOptions& options, const TrainingResult& result) {
  if (!result.checkpoints) return "";
  const CheckpointStatus& status = *result.checkpoints;
  double stall = 0;
  for (const auto& [segment, time] : result.segments) {
    if (segment == segment_name(Segment::checkpoint_stall)) stall = time;
  }
  const CheckpointerInfo info = options.checkpoint.info();
  std::string text = fmt::format(
      "  checkpoints ({}{}{}): {} of {:.1f} MB saved, newest of step {}; training stood still for "
      "{:.3f} s",
      options.checkpoint.type(), info.snapshot.empty() ? "" : ", snapshot " + info.snapshot,
      info.durability.empty() ? "" : ", durability " + info.durability, status.saved,
      1e-6 * static_cast<double>(status.set_bytes), status.saved_step.value_or(-1), stall);
  if (!status.save_s.empty()) {
    text += fmt::format(", each durable after {:.3f} s (median)", spread(status.save_s).median);
  }
  if (status.drained + status.drains_left > 0) {
    text += fmt::format("; {} drained, {} left", status.drained, status.drains_left);
  }
  text += "\n";
  if (status.failed + status.skipped + status.replaced > 0) {
    text += fmt::format("    {} FAILED, {} skipped, {} replaced; {}\n", status.failed,
                        status.skipped, status.replaced, status.last_error);
  }
  return text;
}

// What the hub has measured.
void add_io(Experiment& experiment, nlohmann::json& json) {
  Hub& hub = experiment.hub();
  json["held_up"] = held_up_json(hub);
  json["storage"] = storage_json(hub);
  json["slowest_samples"] = slowest_samples_json(hub, experiment.dataset());
  for (const LoaderMeter::State& loader : hub.loaders()) {
    json["loaders"][loader.split] = loader_json(loader);
  }
  const auto overhead = hub.overhead_s();
  json["measuring_s"] = std::accumulate(overhead.begin(), overhead.end(), 0.0);
}

}  // namespace

nlohmann::json evaluation_json(const Evaluation& evaluation) {
  const Accuracy& accuracy = evaluation.accuracy;
  return {{"epoch", evaluation.epoch},     {"step", evaluation.step},
          {"samples", accuracy.samples()}, {"top1", accuracy.top1()},
          {"top5", accuracy.top5()},       {"mean_per_class", accuracy.mean_per_class()},
          {"chance", accuracy.chance()},   {"largest_class", accuracy.largest_class()},
          {"seconds", evaluation.seconds}};
}

nlohmann::json summary_json(Experiment& experiment, const RunDirectory& directory,
                            const TrainingResult& result) {
  const ExperimentOptions& options = experiment.options();
  const nlohmann::json cache = cache_json(experiment);
  nlohmann::json json = {
      {"schema_version", 1},
      {"status", result.status},
      {"exit_code", static_cast<int>(result.exit_code)},
      {"run_directory", directory.path()},
      {"config_hash", config_hash(options)},
      {"loader", options.loader.type()},
      {"model", options.model.type()},
      {"steps", result.steps},
      {"steps_planned", result.steps_planned},
      {"epochs_completed", result.epochs},
      {"images", result.images},
      {"wall_s", result.wall_s},
      {"segments_s", to_object(result.segments)},
      {"closure_error", result.closure_error},
      {"io_share", result.io_share},
      {"verdict", verdict(result)},
      {"device", device_json(experiment.device().info(), result)},
      {"loader_cost",
       {{"read_s", 1e-9 * static_cast<double>(result.load_cost.read_ns)},
        {"decode_s", 1e-9 * static_cast<double>(result.load_cost.decode_ns)},
        {"bytes_read", result.load_cost.bytes_read},
        {"note", "summed over workers"}}},
      {"skipped", result.skipped_by_reason},
      {"conditions", {{"page_cache", cache["verdict"]}, {"storage", nlohmann::json::object()}}}};
  for (const auto& [name, tier] : options.storage) {
    json["conditions"]["storage"][name] = tier.type();
  }
  json["cache"] = cache;
  add_io(experiment, json);
  if (result.cpu) {
    json["cpu"] = {{"process_s", result.cpu->process_s},
                   {"machine_busy_s", result.cpu->machine_busy_s},
                   {"machine_s", result.cpu->machine_s}};
  }
  if (result.checkpoints) json["conditions"]["checkpoint"] = to_json(options.checkpoint.dump());
  if (!result.error.empty()) json["error"] = result.error;
  if (result.first_batch_s) json["first_batch_s"] = *result.first_batch_s;
  if (result.final_loss) json["final_loss"] = *result.final_loss;
  if (result.wall_s > 0) json["images_per_s"] = static_cast<double>(result.images) / result.wall_s;
  if (!result.window_rates.empty()) json["images_per_s_windows"] = spread(result.window_rates);
  json["evaluations"] = result.total.evaluations;
  json["total"] = total_json(result);
  if (result.checkpoints) {
    json["checkpoints"] = checkpoints_json(result);
    json["checkpoints"]["operations"] = checkpoint_operations_json(experiment.hub());
  }
  if (!result.resumed_from.empty()) {
    json["resumed"] = {{"from", result.resumed_from}, {"step", result.resumed_step}};
  }
  return json;
}

std::string summary_text(Experiment& experiment, const RunDirectory& directory,
                         const TrainingResult& result) {
  const DeviceInfo& device = experiment.device().info();
  std::string text =
      fmt::format("{}: {} of {} steps, {} images in {:.1f} s ({:.0f} images/s){}\n", result.status,
                  result.steps, result.steps_planned, result.images, result.wall_s,
                  result.wall_s > 0 ? static_cast<double>(result.images) / result.wall_s : 0,
                  device.emulated ? ", on an EMULATED device: no arithmetic, no accuracy" : "");
  text += fmt::format(
      "  {}: the device lost {:.1f} % of its time to late data, the trainer waited {:.1f} % of its "
      "own (I/O share); loader {}\n",
      verdict(result), 100 * data_share(result), 100 * result.io_share,
      experiment.options().loader.type());
  text += device_text(device, result) + segments_text(result);
  if (result.first_batch_s)
    text += fmt::format("  first batch after {:.3f} s\n", *result.first_batch_s);
  const CacheVerdict cache =
      judge_cache(experiment.hub().run().state().cache, experiment.hub().train_loader().state());
  text += fmt::format("  data {}: {}\n", to_string(cache.level), cache.text);
  const std::string missed = missed_page_cache(experiment.hub().run().state().cache);
  if (!missed.empty()) text += fmt::format("    {}: no figure of the storage below\n", missed);
  for (const auto& [reason, count] : result.skipped_by_reason) {
    text += fmt::format("  {} samples replaced ({}), see skipped.csv\n", count, reason);
  }
  text += checkpoints_text(experiment.options(), result) + accuracy_text(result);
  return text + "run directory: " + directory.path() + "\n";
}

std::string skipped_csv(const TrainingResult& result) {
  const auto quoted = [](const std::string& field) {
    std::string out = "\"";
    for (const char c : field) out.append(c == '"' ? 2 : 1, c);
    return out + '"';
  };
  std::string text = "epoch,batch,sample,reason,message,replaced_by\n";
  for (const SkippedSample& sample : result.skipped) {
    text +=
        fmt::format("{},{},{},{},{},{}\n", sample.epoch, sample.batch, quoted(sample.key),
                    to_string(sample.reason), quoted(sample.message), quoted(sample.replaced_by));
  }
  return text;
}

}  // namespace stoker

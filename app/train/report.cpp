#include "app/train/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "app/process/provenance.h"
#include "io/core/system/standard_streams.h"
#include "io/core/text/csv.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/experiment/run_plan.h"
#include "io/metrics/clock.h"
#include "io/metrics/record/record_json.h"
#include "io/storage/file_tree.h"

namespace stoker {
namespace {

using nlohmann::json;

json samples_json(const std::vector<SlowSample>& samples, const Dataset& dataset) {
  json result = json::array();
  for (const SlowSample& slow : samples) {
    result.push_back({{"key", dataset.info(Split::train, slow.sample.index).key},
                      {"epoch", slow.sample.epoch},
                      {"index", slow.sample.index},
                      {"bytes", slow.bytes},
                      {"seconds", slow.seconds}});
  }
  return result;
}

json operations_json(const CheckpointMeter& checkpoints, TimePoint loop_begin) {
  json result = json::array();
  for (const CheckpointMeter::Operation& done : checkpoints.operations()) {
    json operation = {{"part", to_string(done.part)},
                      {"step", done.step},
                      {"begin_s", seconds(done.begin - loop_begin)},
                      {"end_s", seconds(done.end - loop_begin)}};
    if (done.bytes > 0) operation["bytes"] = done.bytes;
    result.push_back(operation);
  }
  return result;
}

// 0 where it is absent.
double at(const json& summary, const char* path) { return number_at(summary, path).value_or(0); }
std::string amount(const json& summary, const char* path, const char* noun) {
  return plural(static_cast<int64_t>(at(summary, path)), noun);
}

std::string shares_text(const json& shares) {
  std::string text;
  for (const auto& [name, share] : shares.items()) {
    const std::string percent = fmt::format("{:.1f}", 100 * share.get<double>());
    if (percent != "0.0") {
      text += fmt::format("{}{} {} %", text.empty() ? "" : ", ", name, percent);
    }
  }
  return text;
}

std::string device_text(const json& device) {
  if (!device.contains("idle_share")) return "";
  std::string text = fmt::format("  device idle {:.1f} %", 100 * at(device, "idle_share"));
  if (device.contains("au")) text += fmt::format("; AU {:.1f} %", 100 * at(device, "au"));
  return text + fmt::format("  ({}, timing: {})\n", device["name"].get<std::string>(),
                            device["timing_method"].get<std::string>());
}

std::string checkpoints_text(const json& summary) {
  if (!summary["conditions"].contains("checkpoint")) return "";
  const json& options = summary["conditions"]["checkpoint"];
  const json& of = summary["checkpoints"];
  std::string kind = options["type"];
  for (const char* name : {"snapshot", "durability"}) {
    if (options.contains(name)) kind += fmt::format(", {} {}", name, options.value(name, ""));
  }
  std::string text = fmt::format(
      "  checkpoints ({}): {} of {:.1f} MB saved, newest of step {}; training stood still for "
      "{:.3f} s",
      kind, at(of, "saved"), 1e-6 * at(of, "set_bytes"), of.value("saved_step", -1),
      at(summary, "segments_s.checkpoint_stall"));
  if (of.contains("save_s")) {
    text += fmt::format(", each durable after {:.3f} s (median)", at(of, "save_s.median"));
  }
  if (at(of, "drained") + at(of, "drains_left") > 0) {
    text += fmt::format("; {} drained, {} left", at(of, "drained"), at(of, "drains_left"));
  }
  text += "\n";
  if (at(of, "failed") + at(of, "skipped") + at(of, "replaced") > 0) {
    text += fmt::format("    {} FAILED, {} skipped, {} replaced; {}\n", at(of, "failed"),
                        at(of, "skipped"), at(of, "replaced"), of.value("last_error", ""));
  }
  return text;
}

std::string accuracy_text(const json& evaluations) {
  if (evaluations.empty()) return "";
  const auto last = evaluations.back().get<Evaluation>();
  std::string text;
  for (const auto& [name, value] : other_measures(last)) {
    text += fmt::format("  {} on {} held-out samples: {:.4f}\n", name, last.samples, value);
  }
  if (!last.measures.contains("top1")) return text;
  const auto percent = [&last](const char* name) { return 100 * last.measures.at(name); };
  return text + fmt::format(
                    "  accuracy on {} held-out images: top-1 {:.1f} %, top-5 {:.1f} %, mean per "
                    "class {:.1f} %\n"
                    "    (chance {:.1f} %, always guessing the largest class {:.1f} %)\n",
                    last.samples, percent("top1"), percent("top5"), percent("mean_per_class"),
                    percent("chance"), percent("largest_class"));
}

// Of a training that had more than this process.
std::string goodput_text(const json& summary) {
  if (at(summary, "goodput.processes") < 2) return "";
  const json& of = summary["goodput"];
  json shares;
  for (const auto& [name, spent] : of["parts_s"].items()) {
    if (name != "effective") shares[name] = spent.get<double>() / at(of, "wall_s");
  }
  const std::string rest = shares_text(shares);
  std::string text = fmt::format(
      "  goodput {:.1f} % of {:.1f} s in {}{}{}\n", 100 * at(of, "effective_share"),
      at(of, "wall_s"), amount(of, "processes", "process"), rest.empty() ? "" : "; ", rest);
  if (at(of, "interruptions") > 0) {
    text += fmt::format("    {} lost; ", amount(of, "lost_steps", "step"));
    text += at(of, "recoveries") > 0
                ? fmt::format("recovered in {:.1f} s (mean of {})\n",
                              at(of, "recovered_s") / at(of, "recoveries"), at(of, "recoveries"))
                : "not recovered\n";
  }
  return text;
}

Ink ink_of(const json& verdict) {
  const std::string level = verdict.value("level", "");
  if (level == "unknown") return Ink::bold;
  return level == "fine" ? Ink::green : level == "moderate" ? Ink::yellow : Ink::red;
}

// What the verdict comes to, what shows it, and what to do about it, each under its word.
std::string verdict_text(const json& verdict, const std::string& place, bool colours) {
  std::string text;
  const auto add = [&](std::string_view word, const std::string& line) {
    const Ink ink = word.empty() ? Ink::plain : Ink::bold;
    text += inked(fmt::format("{:<9}", word), ink, colours) + line + "\n";
  };
  add("Verdict:", inked(verdict.value("title", "") + ":", ink_of(verdict), colours) + " " +
                      verdict.value("text", ""));
  std::string_view word = "Why:";
  for (const json& line : verdict["evidence"]) {
    add(std::exchange(word, ""), line.get<std::string>());
  }
  word = "Next:";
  for (const std::string& line :
       {verdict.value("next", ""), "stoker report " + place, "stoker doctor " + place}) {
    if (!line.empty()) add(std::exchange(word, ""), line);
  }
  return text;
}

// The directory by its short name, where that leads to it: "runs/latest".
std::string place_of(const std::string& directory) {
  namespace fs = std::filesystem;
  const fs::path latest = fs::path(directory).parent_path() / "latest";
  std::error_code none;
  return fs::equivalent(latest, directory, none) ? latest.string() : directory;
}

// Which GPU NVML means, as it does not know CUDA_VISIBLE_DEVICES. Empty: none, or chosen by name.
std::optional<unsigned> nvml_index(const DeviceInfo& device) {
  if (!device.torch_device.is_cuda()) return std::nullopt;
  const auto index = static_cast<size_t>(std::max<int>(0, device.torch_device.index()));
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return static_cast<unsigned>(index);
  std::istringstream list(visible);
  std::string entry;
  for (size_t i = 0; i <= index; ++i) std::getline(list, entry, ',');
  unsigned chosen = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), chosen);
  const bool number = error == std::errc() && end == entry.data() + entry.size();
  return number ? std::optional(chosen) : std::nullopt;
}

}  // namespace

RunInfo run_info(Experiment& experiment, const std::string& run_dir) {
  const ExperimentOptions& options = experiment.options();
  const DeviceInfo& device = experiment.device().info();
  RunInfo info;
  info.name = options.run.name;
  info.directory = run_dir;
  info.config_hash = config_hash(options);
  info.model = options.model.type();
  info.dataset = options.dataset.type();
  info.loader = options.loader.type();
  info.checkpoint = options.checkpoint.type();
  info.precision = Field<Precision>::dump(options.training.precision).scalar;
  info.device = device.name;
  info.timing_method = device.timing_method;
  info.emulated = device.emulated;
  info.gpu = nvml_index(device);
  info.build = build_labels();
  std::vector<std::string> paths{run_dir};
  for (const std::string& folder : tier_folders(options)) paths.push_back(folder);
  info.disks = block_devices_under(paths);
  info.config = std::make_shared<const Node>(dump_struct(options));
  info.plan = plan_of(*info.config);
  info.batch_size = options.loader.info().batch_size;
  info.rank = experiment.ranks().rank;
  info.world_size = experiment.ranks().world;
  info.local_rank = experiment.ranks().local_rank;
  info.local_ranks = std::max<int64_t>(1, experiment.ranks().local_world);
  info.started_unix_s = unix_now();
  return info;
}

json summary_json(Experiment& experiment, const RunHistory& total) {
  const ExperimentOptions& options = experiment.options();
  Hub& hub = experiment.hub();
  const RunRecord record = hub.record();
  json summary = to_json(record);
  json& conditions = summary["conditions"];
  conditions["page_cache"] = summary["page_cache"]["state"];
  const Dataset& dataset = experiment.dataset();
  conditions["data"] = {{"type", options.dataset.type()},
                        {"samples", dataset.size(Split::train) + dataset.size(Split::test)},
                        {"classes", dataset.classes().size()}};
  if (const FileTree* files = experiment.files()) conditions["data"]["folder"] = files->root();
  if (!options.training.compute) conditions["compute"] = false;
  conditions["storage"] = json::object();
  for (const auto& [name, tier] : options.storage) conditions["storage"][name] = tier.type();
  if (record.checkpoints.report) {
    conditions["checkpoint"] = to_json(options.checkpoint.dump());
    if (record.run.loop_begin) {
      summary["checkpoints"]["operations"] =
          operations_json(hub.checkpoints(), *record.run.loop_begin);
    }
  }
  summary["evaluations"] = total.evaluations;
  summary["skipped"] = total.failures.by_reason;
  summary["tolerated"] = total.failures.tolerated;
  const LoaderMeter& loader = hub.train_loader();
  for (const Stage stage : {Stage::read, Stage::decode}) {
    summary["slowest_samples"][stage_name(stage)] =
        samples_json(loader.slowest(stage), experiment.dataset());
  }
  summary["total"] = totals_json(total);
  summary["total"]["steps"] = record.run.totals.steps;
  if (!total.digest_chain.empty()) summary["total"]["digest_chain"] = total.digest_chain;
  return summary;
}

std::string summary_text(const json& summary, bool colours) {
  const auto text_of = [&](const char* pointer) {
    return summary.value(json::json_pointer(pointer), std::string());
  };
  std::string text = fmt::format(
      "{}: {} of {}, {} in {:.1f} s ({:.0f} images/s){}\n", text_of("/status"),
      at(summary, "steps"), amount(summary, "steps_planned", "step"),
      amount(summary, "images", "image"), at(summary, "wall_s"), at(summary, "images_per_s"),
      summary["device"]["emulated"].get<bool>()
          ? ", on an EMULATED device: no arithmetic, no accuracy"
      : summary["conditions"].value("compute", true)
          ? ""
          : ", COMPUTING NOTHING (training.compute: false): no loss, no accuracy");
  if (summary.contains("all_ranks") && at(summary, "world_size") > 1) {
    text += fmt::format("  all {} ranks: {} images ({:.0f} images/s)\n", at(summary, "world_size"),
                        at(summary, "all_ranks.images"), at(summary, "all_ranks.images_per_s"));
  }
  text += device_text(summary["device"]);
  if (summary.contains("segments_share")) {
    const double error = 100 * at(summary, "closure_error");
    text += fmt::format("  time of the trainer: {}{}\n", shares_text(summary["segments_share"]),
                        error < 0.01 ? "" : fmt::format("; closure error {:.2f} %", error));
  }
  if (at(summary, "first_batch_s") >= 0.0005) {
    text += fmt::format("  first batch after {:.3f} s\n", at(summary, "first_batch_s"));
  }
  text += fmt::format("  data {}: {}\n", text_of("/page_cache/state"), text_of("/page_cache/text"));
  if (summary["page_cache"].contains("missed")) {
    text += fmt::format("    {}: no figure of the storage below\n", text_of("/page_cache/missed"));
  }
  for (const auto& [reason, count] : summary["skipped"].items()) {
    text += fmt::format("  {} replaced ({}), see skipped.csv\n",
                        plural(count.get<int64_t>(), "sample"), reason);
  }
  if (at(summary, "tolerated") > 0) {
    text += fmt::format("  {} damaged samples used as libjpeg makes them, see tolerated.csv\n",
                        at(summary, "tolerated"));
  }
  text += checkpoints_text(summary) + accuracy_text(summary.value("evaluations", json::array()));
  text += goodput_text(summary);
  const std::string directory = text_of("/run_directory");
  return text + verdict_text(summary["verdict"], place_of(directory), colours) +
         "run directory: " + directory + "\n";
}

std::string skipped_csv(const std::vector<SkippedSample>& skipped) {
  if (skipped.empty()) return "";
  std::string text = "epoch,batch,sample,reason,message,replaced_by\n";
  for (const SkippedSample& sample : skipped) {
    text += fmt::format("{},{},{},{},{},{}\n", sample.epoch, sample.batch, csv_quoted(sample.key),
                        to_string(sample.reason), csv_quoted(sample.message),
                        csv_quoted(sample.replaced_by));
  }
  return text;
}

std::string tolerated_csv(const std::map<std::string, FailureBudget::Tolerated>& tolerated) {
  if (tolerated.empty()) return "";
  std::string text = "sample,times,message\n";
  for (const auto& [key, sample] : tolerated) {
    text += fmt::format("{},{},{}\n", csv_quoted(key), sample.times, csv_quoted(sample.message));
  }
  return text;
}

}  // namespace stoker

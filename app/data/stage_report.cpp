#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/data/stage.h"
#include "app/experiment/options.h"

namespace stoker {
namespace {

// The options of the tier that the data set reads, which has to be of type cached.
CachedOptions cached_options(const ExperimentOptions& options, const std::string& name) {
  const std::string hint = "a tier of type cached: storage." + (name.empty() ? "data" : name) +
                           "={type: cached, inner: {...}, in: {type: posix, root: ...}}";
  if (name.empty()) {
    throw Error(ExitCode::config, "dataset stage: this data set reads no tier; it takes " + hint);
  }
  const Component<Storage>& tier = options.storage.at(name);
  if (const auto* cached = tier.options<CachedOptions>()) return *cached;
  throw Error(ExitCode::config, "dataset stage: tier '" + name + "' is of type " + tier.type() +
                                    ", and has no place for copies; it takes " + hint);
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

nlohmann::json report_json(const StagingReport& report, const std::string& tier, bool dry_run) {
  const int64_t planned = std::ssize(report.plan.objects);
  nlohmann::json json = {
      {"tier", tier},
      {"dry_run", dry_run},
      {"objects", report.objects},
      {"bytes", report.bytes},
      {"staged_before", {{"objects", report.staged_before}, {"bytes", report.bytes_before}}},
      {"planned", {{"objects", planned}, {"bytes", report.plan.bytes}}},
      {"left_alone", report.strange}};
  const int64_t objects = report.staged_before + (dry_run ? planned : report.copied);
  const uint64_t bytes = report.bytes_before + (dry_run ? report.plan.bytes : report.bytes_copied);
  json["staged"] = {
      {"objects", objects},
      {"bytes", bytes},
      {"share_of_objects",
       share(static_cast<double>(objects), static_cast<double>(report.objects))},
      {"share_of_bytes", share(static_cast<double>(bytes), static_cast<double>(report.bytes))}};
  if (!dry_run) {
    json["copied"] = {{"objects", report.copied}, {"bytes", report.bytes_copied}};
    json["unreadable"] = report.unreadable;
    json["seconds"] = report.seconds;
  }
  return json;
}

void print_staging(const nlohmann::json& json, const CachedOptions& options) {
  const auto count = [&](const char* part, const char* what) {
    return json[part][what].get<uint64_t>();
  };
  const bool dry_run = json["dry_run"];
  fmt::print(
      "tier {}: {} objects, {:.1f} MB; rule: {}{}, at most {:.1f} MB\n",
      json["tier"].get<std::string>(), json["objects"].get<int64_t>(),
      1e-6 * json["bytes"].get<double>(), Field<StagingOrder>::dump(options.rule.order).scalar,
      options.rule.below
          ? fmt::format(", below {:.3f} MB", 1e-6 * static_cast<double>(options.rule.below->bytes))
          : "",
      1e-6 * static_cast<double>(options.rule.limit.bytes));
  if (options.rule.order == StagingOrder::most_read) {
    fmt::print("  nothing was read in this process: most_read is the order of the listing\n");
  }
  fmt::print("  {} objects, {} bytes were staged before\n", count("staged_before", "objects"),
             count("staged_before", "bytes"));
  if (json["left_alone"] > 0) {
    fmt::print("  {} other objects on the tier for copies are left alone\n",
               json["left_alone"].get<int64_t>());
  }
  if (dry_run) {
    fmt::print("  would copy {} objects, {} bytes\n", count("planned", "objects"),
               count("planned", "bytes"));
  } else {
    fmt::print("  copied {} objects, {} bytes in {:.2f} s; {} could not be read\n",
               count("copied", "objects"), count("copied", "bytes"), json["seconds"].get<double>(),
               json["unreadable"].get<int64_t>());
  }
  fmt::print("  {} staged: {:.1f} % of the objects, {:.1f} % of the bytes\n",
             dry_run ? "then" : "now", 100 * json["staged"]["share_of_objects"].get<double>(),
             100 * json["staged"]["share_of_bytes"].get<double>());
}

}  // namespace

ExitCode stage_experiment(const StageArguments& arguments) {
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  const std::string name = options.dataset.info().tier;
  const CachedOptions cached = cached_options(options, name);
  if (!arguments.dry_run && cached.in.info().in_memory) {
    throw Error(ExitCode::config,
                "dataset stage: what is staged in memory dies with this process: use storage." +
                    name + ".in={type: posix, root: ...}, fill: ahead, or --dry-run");
  }
  const auto inner = cached.inner.create({name + ".inner", print_remark});
  const auto in = cached.in.create({name + ".in", print_remark});
  StagingReport report = plan_staging(cached, *inner, *in);
  if (!arguments.dry_run) {
    stage_dataset(report, *inner, *in,
                  [](uint64_t done, uint64_t total) { show_progress("bytes", done, total); });
  }
  const nlohmann::json json = report_json(report, name, arguments.dry_run);
  if (arguments.json) {
    fmt::print("{}\n", json.dump());
  } else {
    print_staging(json, cached);
  }
  return ExitCode::ok;
}

}  // namespace stoker

#include "app/tools/data/fetch.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "io/core/text/text.h"
#include "io/dataset/fetch.h"
#include "io/experiment/data_options.h"
#include "io/metrics/clock.h"
#include "io/storage/cached/cached.h"

namespace stoker {

std::unique_ptr<Storage> open_directory(const std::string& root) {
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text("posix")});
  node.entries.push_back({"root", {}, Node::text(root)});
  return Registry<Storage>::global().parse(Section(node, "", "storage", nullptr)).create({});
}

ExitCode fetch_dataset(const FetchArguments& arguments) {
  const Recipe& recipe = find_recipe(arguments.name);
  const std::string root = arguments.to.empty() ? "data/" + recipe.name : arguments.to;
  FetchOptions options;
  options.archive = arguments.archive;
  options.url = arguments.url;
  options.progress = show_progress;
  options.notify = print_note;
  const FetchResult result = fetch(recipe, *open_directory(root), options);
  const std::string text =
      result.was_there ? root + " is there already\n"
                       : fmt::format("{}: {}, {} from {}\n", root, plural(result.files, "file"),
                                     plural(result.bytes, "byte"), result.source);
  return print_result(arguments.json,
                      {{"root", root},
                       {"was_there", result.was_there},
                       {"source", result.source},
                       {"files", result.files},
                       {"bytes", result.bytes}},
                      text);
}

namespace {

// Objects, and their bytes together. A value.
struct ObjectCount {
  int64_t objects = 0;
  uint64_t bytes = 0;
  void add(uint64_t more) {
    ++objects;
    bytes += more;
  }
};

// What staging did, or would do. A value.
struct StagingReport {
  ObjectCount all;  // objects of the inner tier
  ObjectCount before;
  StagingPlan plan;     // what is still to copy
  int64_t strange = 0;  // objects on the fast tier that are no copies of these
  ObjectCount copied;
  int64_t unreadable = 0;
  double seconds = 0;  // that copying took
};

// The options of the tier that the data set reads, which has to be of type cached.
CachedOptions cached_options(const DataOptions& options, const std::string& name) {
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

nlohmann::json count_json(const ObjectCount& count) {
  return {{"objects", count.objects}, {"bytes", count.bytes}};
}

std::string report_text(const StagingReport& report, const nlohmann::json& staged,
                        const StagingRule& rule, const std::string& tier, bool dry_run) {
  std::string text = fmt::format(
      "tier {}: {} objects, {:.1f} MB; rule: {}{}, at most {:.1f} MB\n", tier, report.all.objects,
      1e-6 * static_cast<double>(report.all.bytes), Field<StagingOrder>::dump(rule.order).scalar,
      rule.below ? fmt::format(", below {:.3f} MB", 1e-6 * static_cast<double>(rule.below->bytes))
                 : "",
      1e-6 * static_cast<double>(rule.limit.bytes));
  if (rule.order == StagingOrder::most_read) {
    text += "  nothing was read in this process: most_read is the order of the listing\n";
  }
  text += fmt::format("  {} objects, {} bytes were staged before\n", report.before.objects,
                      report.before.bytes);
  if (report.strange > 0) {
    text +=
        fmt::format("  {} other objects on the tier for copies are left alone\n", report.strange);
  }
  text += dry_run ? fmt::format("  would copy {} objects, {} bytes\n", report.plan.objects.size(),
                                report.plan.bytes)
                  : fmt::format("  copied {} objects, {} bytes in {:.2f} s; {} could not be read\n",
                                report.copied.objects, report.copied.bytes, report.seconds,
                                report.unreadable);
  return text + fmt::format("  {} staged: {:.1f} % of the objects, {:.1f} % of the bytes\n",
                            dry_run ? "then" : "now",
                            100 * staged["share_of_objects"].get<double>(),
                            100 * staged["share_of_bytes"].get<double>());
}

ExitCode print_report(const StagingReport& report, const StagingRule& rule, const std::string& tier,
                      const StageArguments& arguments) {
  const ObjectCount planned{std::ssize(report.plan.objects), report.plan.bytes};
  const ObjectCount& more = arguments.dry_run ? planned : report.copied;
  const ObjectCount staged{report.before.objects + more.objects, report.before.bytes + more.bytes};
  nlohmann::json json = {{"tier", tier},
                         {"dry_run", arguments.dry_run},
                         {"objects", report.all.objects},
                         {"bytes", report.all.bytes},
                         {"staged_before", count_json(report.before)},
                         {"planned", count_json(planned)},
                         {"left_alone", report.strange},
                         {"staged", count_json(staged)}};
  json["staged"]["share_of_objects"] =
      share(static_cast<double>(staged.objects), static_cast<double>(report.all.objects));
  json["staged"]["share_of_bytes"] =
      share(static_cast<double>(staged.bytes), static_cast<double>(report.all.bytes));
  if (!arguments.dry_run) {
    json["copied"] = count_json(report.copied);
    json["unreadable"] = report.unreadable;
    json["seconds"] = report.seconds;
  }
  return print_result(arguments.json, json,
                      report_text(report, json["staged"], rule, tier, arguments.dry_run));
}

// What the tier's rule would still copy.
StagingReport plan_staging(const CachedOptions& options, const Storage& inner, const Storage& in) {
  StagingReport report;
  const StagedBefore before = recognise(inner, in);
  std::set<std::string> taken(before.strange.begin(), before.strange.end());
  report.strange = std::ssize(before.strange);
  for (const ObjectInfo& copy : before.copies) {
    report.before.add(copy.bytes);
    taken.insert(copy.key);
  }
  std::vector<ObjectInfo> objects = inner.list("");
  for (const ObjectInfo& object : objects) {
    if (!object.key.ends_with('/')) report.all.add(object.bytes);
  }
  objects = candidates(std::move(objects), options.rule);
  std::erase_if(objects, [&](const ObjectInfo& object) { return taken.contains(object.key); });
  report.plan = choose(objects, options.rule, report.before.bytes);
  return report;
}

// Copies it, one object after the other.
void stage_dataset(StagingReport& report, const Storage& inner, Storage& in) {
  const TimePoint begin = Clock::now();
  for (const ObjectInfo& object : report.plan.objects) {
    if (copy_object(inner, in, object, [] { return false; }) == Copied::yes) {
      report.copied.add(object.bytes);
    } else {
      ++report.unreadable;
    }
    show_progress("bytes", report.copied.bytes, report.plan.bytes);
  }
  report.seconds = seconds(Clock::now() - begin);
}

}  // namespace

ExitCode stage_experiment(const StageArguments& arguments) {
  const DataOptions options = read_data_options(arguments.config, arguments.overrides, print_note);
  const std::string name = options.dataset.info().tier;
  const CachedOptions cached = cached_options(options, name);
  if (!arguments.dry_run && cached.in.info().in_memory) {
    throw Error(ExitCode::config,
                "dataset stage: what is staged in memory dies with this process: use storage." +
                    name + ".in={type: posix, root: ...}, fill: ahead, or --dry-run");
  }
  const auto inner = cached.inner.create({name + ".inner", print_note});
  const auto in = cached.in.create({name + ".in", print_note});
  StagingReport report = plan_staging(cached, *inner, *in);
  if (!arguments.dry_run) stage_dataset(report, *inner, *in);
  return print_report(report, cached.rule, name, arguments);
}

}  // namespace stoker

#include "io/sinks/exposition.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "io/metrics/record/record_json.h"

namespace stoker {
namespace {

using nlohmann::json;
using Labels = std::vector<std::pair<std::string, std::string>>;
using Families = std::vector<prometheus::MetricFamily>;

prometheus::ClientMetric with_labels(const Labels& labels) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : labels) metric.label.push_back({name, value});
  return metric;
}

prometheus::ClientMetric number(double value, const Labels& labels) {
  prometheus::ClientMetric metric = with_labels(labels);
  metric.counter.value = metric.gauge.value = value;  // the family's type says which is printed
  return metric;
}

prometheus::ClientMetric distribution(const Histogram& histogram, const Labels& labels) {
  prometheus::ClientMetric metric = with_labels(labels);
  uint64_t below = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    below += static_cast<uint64_t>(histogram.counts[i]);
    const bool last = i == histogram.bounds.size();
    metric.histogram.bucket.push_back(
        {below, last ? std::numeric_limits<double>::infinity() : histogram.bounds[i]});
  }
  metric.histogram.sample_count = below;
  metric.histogram.sample_sum = histogram.sum;
  return metric;
}

prometheus::MetricType type_of(FigureKind kind) {
  if (kind == FigureKind::counter) return prometheus::MetricType::Counter;
  return kind == FigureKind::histogram ? prometheus::MetricType::Histogram
                                       : prometheus::MetricType::Gauge;
}

// A quotient says where the program's own reports have the same number.
std::string kept_as(const Figure& figure) {
  if (figure.kind != FigureKind::quotient) return "";
  return std::string(" Of the whole run so far, as ") + figure.name + " in summary.json.";
}

// What was not measured is absent.
void add(Families& families, const Figure& figure, const RunRecord& record) {
  const std::string name = prometheus_name(figure);
  if (name.empty()) return;
  const std::vector<std::string> names = label_names(figure);
  prometheus::MetricFamily family{
      name,
      std::string(figure.definition) + " " + figure.measured + kept_as(figure),
      type_of(figure.kind),
      {}};
  for (const FigureValue& value : figure.read(record)) {
    Labels labels;
    for (size_t i = 0; i < names.size(); ++i) labels.emplace_back(names[i], value.labels[i]);
    if (value.value) family.metric.push_back(number(*value.value, labels));
    if (value.histogram) family.metric.push_back(distribution(*value.histogram, labels));
  }
  if (!family.metric.empty()) families.push_back(std::move(family));
}

void add_info(Families& families, const char* name, const char* help,
              const std::vector<Labels>& all) {
  prometheus::MetricFamily family{name, help, prometheus::MetricType::Gauge, {}};
  for (const Labels& labels : all) family.metric.push_back(number(1, labels));
  families.push_back(std::move(family));
}

// What a record says in words, as labels; and its status as one series for each.
void add_words(Families& families, const RunRecord& record) {
  const RunInfo& info = record.run.info;
  add_info(families, "stoker_build_info", "Build of this binary; always 1.", {info.build});
  add_info(families, "stoker_run_info",
           "What this run is; config is the hash of the resolved YAML; always 1.",
           {{{"run", run_label(info)},
             {"config", info.config_hash},
             {"loader", info.loader},
             {"dataset", info.dataset},
             {"model", info.model},
             {"checkpoint", info.checkpoint},
             {"device", info.device},
             {"timing_method", info.timing_method},
             {"precision", info.precision},
             {"rank", std::to_string(info.rank)}}});
  std::vector<Labels> tiers;
  for (const TierMeter::State& tier : record.tiers) {
    tiers.push_back(
        {{"tier", tier.name}, {"type", tier.type}, {"emulated", tier.emulated ? "true" : "false"}});
  }
  if (!tiers.empty()) add_info(families, "stoker_tier_info", "The tiers; always 1.", tiers);
  prometheus::MetricFamily status{"stoker_run_status",
                                  "1 for what the run is doing or how it ended, 0 for all others.",
                                  prometheus::MetricType::Gauge,
                                  {}};
  for (size_t i = 0; i < kRunPhases; ++i) {
    const auto phase = static_cast<RunPhase>(i);
    status.metric.push_back(number(phase == record.run.phase, {{"status", to_string(phase)}}));
  }
  families.push_back(std::move(status));
}

// One Prometheus has the series of all ranks side by side.
void add_rank(Families& families, const RunInfo& info) {
  if (info.world_size == 1) return;
  for (prometheus::MetricFamily& family : families) {
    for (prometheus::ClientMetric& metric : family.metric) {
      const bool has =
          std::ranges::any_of(metric.label, [](const auto& label) { return label.name == "rank"; });
      if (!has) metric.label.push_back({"rank", std::to_string(info.rank)});
    }
  }
}

Families families_of(const RunRecord& record) {
  Families families;
  add_words(families, record);
  for (const Figure& figure : figures()) add(families, figure, record);
  add_rank(families, record.run.info);
  return families;
}

std::string serialize(const Families& families) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

constexpr double kRecent_s = 10;

json quotient(double part, double whole) { return whole > 0 ? json(part / whole) : json(); }

json images_per_s(const RunTotals& passed) {
  return quotient(static_cast<double>(passed.images), passed.wall_s);
}

// The rate over the last seconds, where the history has them.
json recent_rate(const std::vector<HistoryPoint>& points) {
  if (points.empty()) return {};
  const RunTotals& now = points.back().totals;
  RunTotals before;
  for (const HistoryPoint& point : points) {
    if (now.wall_s - point.totals.wall_s >= kRecent_s) before = point.totals;
  }
  return images_per_s(now - before);
}

template <class E, size_t kSize>
void add_shares(json& out, const char* (*name)(E), const std::array<double, kSize>& parts,
                double whole) {
  for (size_t i = 0; i < kSize; ++i) {
    out[name(static_cast<E>(i))].push_back(quotient(parts[i], whole));
  }
}

// Columns of equal length; null where nothing was measured.
json history_json(const std::vector<HistoryPoint>& points) {
  json out = {{"elapsed_s", json::array()}};
  HistoryPoint before;
  for (const HistoryPoint& point : points) {
    const RunTotals passed = point.totals - before.totals;
    out["elapsed_s"].push_back(point.totals.wall_s);
    out["wall_s"].push_back(passed.wall_s);
    add_shares(out["segments_share"], segment_name, passed.segments, passed.wall_s);
    add_shares(out["idle_share_by_cause"], idle_cause_name, passed.device.idle,
               passed.device.observed);
    out["images_per_s"].push_back(images_per_s(passed));
    out["queue_fill"].push_back(quotient(point.queue_fill_s - before.queue_fill_s,
                                         point.queue_known_s - before.queue_known_s));
    out["loss"].push_back(point.loss ? json(*point.loss) : json());
    before = point;
  }
  return out;
}

}  // namespace

std::string run_label(const RunInfo& info) {
  // Other ranks' directories are in that of rank 0.
  const size_t end = info.rank == 0 ? std::string::npos : info.directory.rfind('/');
  const std::string directory = info.directory.substr(0, end);
  return directory.substr(directory.rfind('/') + 1);
}

std::string Exposition::text() {
  const std::lock_guard lock(mutex_);
  const MeasuringScope scope(hub_, Overhead::scrape);
  RunRecord record = hub_.record();
  if (record.run.info.gpu && !nvml_) {
    nvml_.emplace();
    gpu_ = nvml_->device_by_index(*record.run.info.gpu);
  }
  if (gpu_) record.gpu = gpu_->read();
  return serialize(families_of(record));
}

std::string outcome_text(const Hub& hub) {
  RunRecord record = hub.step_record();
  Families families = families_of(record);
  if (record.run.phase == RunPhase::completed) {
    families.push_back({"stoker_run_last_success_timestamp_seconds",
                        "Unix time the last run completed.",
                        prometheus::MetricType::Gauge,
                        {number(unix_now(), {})}});
  }
  return serialize(families);
}

json status_json(const Hub& hub, double stalled_after_s) {
  const RunRecord record = hub.record();
  const std::vector<HistoryPoint> points = hub.run().history();
  json status = to_json(record, stalled_after_s);
  status["health"] = {{"healthy", makes_progress(record.run, stalled_after_s)},
                      {"stalled_after_s", stalled_after_s},
                      {"segment", segment_name(record.run.doing.segment)}};
  status["evaluations"] = hub.run().evaluations();
  status["history"] = history_json(points);
  const json recent = recent_rate(points);
  if (!recent.is_null()) status["history"]["images_per_s_recent"] = recent;
  if (const std::string profile = hub.io_sessions().newest(); !profile.empty()) {
    status["io_profile"] = json::parse(profile);
  }
  return status;
}

}  // namespace stoker

#include "io/sinks/families.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace stoker {
namespace {

// The names that every client library of Prometheus gives to these.
constexpr std::array<std::string_view, 7> kStandard{"process_cpu_seconds_total",
                                                    "process_resident_memory_bytes",
                                                    "process_virtual_memory_bytes",
                                                    "process_open_fds",
                                                    "process_max_fds",
                                                    "process_threads",
                                                    "process_start_time_seconds"};

prometheus::ClientMetric with_labels(const Families::Labels& labels) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : labels) metric.label.push_back({name, value});
  return metric;
}

}  // namespace

Families& Families::begin(const char* name, const char* help, prometheus::MetricType type) {
  const bool standard = std::ranges::find(kStandard, name) != kStandard.end();
  families_.push_back({standard ? name : std::string("stoker_") + name, help, type, {}});
  return *this;
}

Families& Families::counter(const char* name, const char* help) {
  return begin(name, help, prometheus::MetricType::Counter);
}

Families& Families::gauge(const char* name, const char* help) {
  return begin(name, help, prometheus::MetricType::Gauge);
}

Families& Families::histogram(const char* name, const char* help) {
  return begin(name, help, prometheus::MetricType::Histogram);
}

Families& Families::add(double value, const Labels& labels) {
  prometheus::ClientMetric metric = with_labels(labels);
  metric.counter.value = metric.gauge.value = value;  // the family's type says which is printed
  families_.back().metric.push_back(std::move(metric));
  return *this;
}

void Families::add_histogram(std::span<const double> bounds, std::span<const int64_t> buckets,
                             double sum, const Labels& labels) {
  prometheus::ClientMetric metric = with_labels(labels);
  uint64_t below = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    below += static_cast<uint64_t>(buckets[i]);
    const bool last = i == bounds.size();
    metric.histogram.bucket.push_back(
        {below, last ? std::numeric_limits<double>::infinity() : bounds[i]});
  }
  metric.histogram.sample_count = below;
  metric.histogram.sample_sum = sum;
  families_.back().metric.push_back(std::move(metric));
}

std::vector<prometheus::MetricFamily> Families::take() {
  std::vector<prometheus::MetricFamily> result = std::move(families_);
  std::erase_if(result, [](const prometheus::MetricFamily& f) { return f.metric.empty(); });
  families_.clear();
  return result;
}

}  // namespace stoker

#pragma once

#include <prometheus/metric_family.h>

#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/metrics/hub.h"
#include "io/metrics/nvml.h"
#include "io/metrics/process_stats.h"
#include "io/metrics/system_stats.h"

namespace stoker {

// Builds what a scrape returns. Families without a value are left out: what was not measured is
// absent. One thread at a time.
class Families {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  // Begins a family; its values follow. Names get the prefix "stoker_", unless they are
  // standard ones ("process_open_fds").
  Families& counter(const char* name, const char* help);
  Families& gauge(const char* name, const char* help);
  Families& histogram(const char* name, const char* help);

  Families& add(double value, const Labels& labels = {});
  template <const auto& kBounds>
  Families& add(const TallyTotals<kBounds>& totals, const Labels& labels = {}) {
    add_histogram(kBounds, totals.buckets, totals.seconds(), labels);
    return *this;
  }

  std::vector<prometheus::MetricFamily> take();

 private:
  Families& begin(const char* name, const char* help, prometheus::MetricType type);
  void add_histogram(std::span<const double> bounds, std::span<const int64_t> buckets, double sum,
                     const Labels& labels);

  std::vector<prometheus::MetricFamily> families_;
};

// What tells runs apart: the name of the directory.
std::string run_label(const RunInfo& info);

// The catalogue, by subject.
void add_run(Families& out, const RunMeter::State& run);
void add_training(Families& out, const RunMeter::State& run);
void add_device(Families& out, const RunMeter::State& run);
void add_gpu(Families& out, const std::string& device, const GpuReadings& gpu);
void add_loaders(Families& out, const std::vector<LoaderMeter::State>& loaders,
                 const RunMeter::State& run);
void add_tiers(Families& out, const std::vector<TierMeter::State>& tiers);
void add_checkpoints(Families& out, const CheckpointMeter::State& checkpoints);
void add_process(Families& out, const ProcessStats& process);
void add_system(Families& out, const SystemStats& system);
void add_overhead(Families& out, const Hub& hub);

}  // namespace stoker

#include <fmt/format.h>

#include <algorithm>

#include "app/analysis/doctor/finding.h"

namespace stoker {
namespace {

// Steps shorter than this are as long as handing a batch over takes.
constexpr double kTinyStep = 2e-3;
constexpr double kColdRatio = 5;
constexpr int64_t kDeeper = 4;
constexpr int64_t kLargerBatch = 8;

std::vector<std::string> pipeline_evidence(const Evidence& e) {
  const double working = e.read_s + e.decode_s;
  std::vector<std::string> lines{
      fmt::format("late data cost the device {:.1f} % of its {:.1f} s", 100 * e.share(e.data_s),
                  e.total_s),
      fmt::format("reading and decoding all samples is {:.2f} s of work for one thread: {:.2f} s "
                  "for {} workers, beside {:.2f} s of the device's",
                  working, e.production_s(), e.workers, e.busy_s)};
  if (e.works_ahead && working + e.wait_s > 0) {
    lines.push_back(fmt::format("the workers had nothing to do in {:.0f} % of their time",
                                100 * e.wait_s / (working + e.wait_s)));
  }
  return lines;
}

// `cost` would go away if the workers never paused.
Finding no_pause(const Evidence& e, double cost) {
  Finding finding{"prefetch_depth", "", cost, pipeline_evidence(e), {}, "", gain_of(cost)};
  if (e.total_s < kTinyStep * static_cast<double>(e.steps)) {
    finding.resource = "host_overhead";
    finding.text = fmt::format(
        "Steps of {:.2f} ms are as short as handing over a batch takes: larger batches.",
        1e3 * e.total_s / static_cast<double>(e.steps));
    finding.overrides = {fmt::format("loader.batch_size={}", kLargerBatch * e.batch_size)};
  } else if (e.works_ahead) {
    const std::string depth = setting(e.config, "loader.prefetch_batches");
    finding.text =
        "The workers are fast enough on average, but reads come in bursts and the batches ahead "
        "run out: look ahead farther.";
    finding.evidence.push_back("loader.prefetch_batches is " + depth);
    finding.overrides = {
        fmt::format("loader.prefetch_batches={}", kDeeper * std::max(1, std::atoi(depth.c_str())))};
  } else {
    finding.resource = "no_prefetch";
    finding.text = fmt::format(
        "Loader {} does nothing ahead: reading and training take turns although they could go on "
        "side by side.",
        e.loader);
    finding.overrides = {"loader.type=prefetched"};
  }
  return finding;
}

// Data came late in the first epoch only.
bool only_first_epoch(const Evidence& e) {
  return e.first_epoch_wait_s && e.later_wait_s &&
         *e.first_epoch_wait_s > kColdRatio * *e.later_wait_s &&
         e.share(*e.first_epoch_wait_s * e.first_epoch_steps) > 0.5 * e.share(e.data_s);
}

Finding cold_cache(const Evidence& e) {
  return {"cold_cache",
          "The first epoch reads from storage, later ones from memory: the loss ends with it.",
          e.share(e.data_s),
          {fmt::format("waiting for data per step: first epoch {:.1f} ms, later ones {:.1f} ms",
                       1e3 * *e.first_epoch_wait_s, 1e3 * *e.later_wait_s)},
          {},
          "longer runs dilute it; staging the data on a faster tier beforehand removes it",
          0};
}

}  // namespace

double gain_of(double cost) { return cost < 1 ? cost / (1 - cost) : 0; }

Findings input_findings(const Evidence& e) {
  if (e.data_s <= 0) return {};
  if (only_first_epoch(e)) return {cold_cache(e)};
  // The run's time if no worker had ever paused; what is above it is the order of things, what is
  // left is the work itself.
  const double unpaused = std::max(e.total_s - e.data_s, std::min(e.production_s(), e.total_s));
  const double order = e.total_s - unpaused;
  const double work = e.share(e.data_s - order);
  Findings findings;
  if (order > 0) findings.push_back(no_pause(e, e.share(order)));
  if (work > 0) {
    const Findings of =
        e.read_s > e.decode_s ? storage_findings(e, work) : decode_findings(e, work);
    findings.insert(findings.end(), of.begin(), of.end());
  }
  if (e.skipped > 0 && e.reads > 0) {
    const double cost = e.share(e.data_s) * std::min(1.0, e.skipped / e.reads);
    findings.push_back(
        {"bad_samples",
         "Samples that cannot be used are read for nothing and replaced.",
         cost,
         {fmt::format("{:.0f} of {:.0f} samples, see skipped.csv", e.skipped, e.reads)},
         {},
         "mend or remove these files",
         gain_of(cost)});
  }
  return findings;
}

}  // namespace stoker

#include <fmt/format.h>

#include <algorithm>

#include "app/analysis/doctor/finding.h"

namespace stoker {
namespace {

constexpr double kBusyCores = 0.75;
constexpr double kOthersInTheWay = 0.25;  // of all cores
constexpr double kHungry = 0.25;          // likewise; whoever wants them gets so much beside others
constexpr int64_t kMoreDecoders = 4;

// Another worker would find a core, or does not want one: decoders may wait for something else.
bool has_room(const Evidence& e) {
  const double own = e.own_cores.value_or(e.cores);
  return own < kHungry * e.cores || own + e.others_cores.value_or(0) < kBusyCores * e.cores ||
         static_cast<double>(e.workers) < e.cores;
}

std::vector<std::string> decode_evidence(const Evidence& e) {
  std::vector<std::string> lines{
      fmt::format("{:.0f} % of the loader's work is decoding: {:.2f} ms a sample",
                  100 * e.decode_s / (e.read_s + e.decode_s),
                  1e3 * e.decode_s / std::max(1.0, e.reads)),
      fmt::format("{} workers on {:.0f} cores", e.workers, e.cores)};
  if (e.own_cores) {
    lines.push_back(fmt::format("this process kept {:.1f} cores busy, others {:.1f}", *e.own_cores,
                                e.others_cores.value_or(0)));
  }
  return lines;
}

}  // namespace

Findings decode_findings(const Evidence& e, double cost) {
  Finding finding{"decode", "", cost, decode_evidence(e), {}, "", gain_of(cost)};
  if (has_room(e)) {
    const auto workers = std::max(kMoreDecoders * e.workers, static_cast<int64_t>(e.cores));
    finding.text = "Decoding holds the device up, and there is room for more workers.";
    finding.overrides = {fmt::format("loader.workers={}", workers)};
    if (!e.has_workers) finding.overrides.emplace_back("loader.type=prefetched");
    return {finding};
  }
  if (e.others_cores.value_or(0) > kOthersInTheWay * e.cores) {
    finding.resource = "cpu_contention";
    finding.text = "Other processes use the cores that decoding needs.";
    finding.advice = "let this run have the machine, or fewer jobs on it";
    return {finding};
  }
  finding.text = "Decoding holds the device up, and every core is busy: less work for each sample.";
  if (setting(e.config, "decoder.scaled_decode") == "false") {
    finding.overrides = {"decoder.scaled_decode=true"};
  }
  finding.advice = "keep decoded samples in a cache, store smaller images, or use more cores";
  return {finding};
}

}  // namespace stoker

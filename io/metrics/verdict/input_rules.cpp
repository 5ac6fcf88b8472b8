#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/metrics/verdict/verdict.h"

namespace stoker {
namespace {

// Reading.

constexpr double kAtItsRate = 0.7;  // share of what the tier can do
constexpr double kManyReads = 8;    // in flight: more of them rarely bring more
constexpr double kSlowRead =
    20e-3;  // time of one read, with more than kManyReads at once: they queue
constexpr int64_t kMoreReaders = 4;
constexpr int64_t kMaxWorkers = 64;

struct Reading {
  double mb_per_s;
  double in_flight;
  double each_ms;
};

Reading reading_of(const Evidence& e) {
  const double busy = std::max(e.source_busy_s, 1e-9);
  return {1e-6 * e.source_bytes / busy, e.read_s / busy, 1e3 * e.read_s / std::max(1.0, e.reads)};
}

bool at_its_rate(const Evidence& e, const Reading& reading) {
  if (e.fell_behind) return true;
  if (e.source_mb_per_s) return reading.mb_per_s > kAtItsRate * *e.source_mb_per_s;
  return reading.in_flight > kManyReads && reading.each_ms > 1e3 * kSlowRead;
}

std::vector<std::string> storage_evidence(const Evidence& e, const Reading& reading) {
  std::vector<std::string> lines{
      fmt::format("tier '{}' gave {:.1f} MB/s while it was read, with {:.1f} reads under way and "
                  "{:.2f} ms for each",
                  e.source, reading.mb_per_s, reading.in_flight, reading.each_ms),
      fmt::format("{:.0f} % of the loader's work is reading",
                  100 * e.read_s / (e.read_s + e.decode_s))};
  if (e.source_mb_per_s) {
    lines.push_back(fmt::format("{} ({}) {} {:.0f} MB/s", e.source, e.source_type,
                                e.fell_behind ? "could not keep up with the model's" : "can do",
                                *e.source_mb_per_s));
  }
  return lines;
}

// The tier behind copies in memory, which serve all epochs but the first. Empty: there is only one,
// or they are there.
std::string cached_tier(const Evidence& e) {
  const Node* tiers = e.config.find("storage");
  const Node* tier = tiers == nullptr ? nullptr : tiers->find(e.tier);
  const std::string epochs = setting(e.config, "training.epochs");
  if (tier == nullptr || e.keeps_copies || epochs.empty() || epochs == "1") return "";
  // JSON is flow style.
  return fmt::format("storage.{}={{type: cached, inner: {}}}", e.tier, json_text(to_json(*tier)));
}

Findings storage_findings(const Evidence& e, double cost) {
  const Reading reading = reading_of(e);
  Finding finding{"storage_latency", "", cost, storage_evidence(e, reading)};
  if (at_its_rate(e, reading)) {
    finding.cause = "storage_bandwidth";
    finding.text =
        fmt::format("Tier '{}' gives all that it can: fewer bytes or a faster tier.", e.tier);
    finding.advice =
        "keep the data set on a faster tier, or a cache in front of this one; smaller images";
    if (const std::string cached = cached_tier(e); !cached.empty()) {
      finding.overrides.push_back(cached);
    }
    return {finding};
  }
  finding.text = fmt::format(
      "Single reads from tier '{}' take long and few are under way at a time: more workers.",
      e.tier);
  const int64_t workers = std::min(kMaxWorkers, kMoreReaders * e.workers);
  if (workers > e.workers) finding.overrides.push_back(fmt::format("loader.workers={}", workers));
  if (!e.has_workers) finding.overrides.emplace_back("loader.type=prefetched");
  return {finding};
}

// Decoding.

constexpr double kFreeCores = 0.25;  // share of those that this process may use
constexpr int64_t kMoreDecoders = 4;

std::vector<std::string> decode_evidence(const Evidence& e) {
  std::vector<std::string> lines{
      fmt::format("{:.0f} % of the loader's work is decoding: {:.2f} ms a sample",
                  100 * e.decode_s / (e.read_s + e.decode_s),
                  1e3 * e.decode_s / std::max(1.0, e.reads)),
      fmt::format("{} on {:g} {}", plural(e.workers, "worker"), e.cores,
                  e.cores == 1 ? "core" : "cores")};
  if (e.own_cores) {
    lines.push_back(fmt::format("this process kept {:.1f} cores busy, others {:.1f}", *e.own_cores,
                                e.others_cores.value_or(0)));
  }
  if (e.waiting_threads) {
    lines.push_back(fmt::format("{:.1f} of its threads waited for a core", *e.waiting_threads));
  }
  return lines;
}

// Who uses the cores comes first: a loader that is starved of them looks like one with too few
// workers, or with too few batches ahead.
Finding crowded_out(const Evidence& e, double cost) {
  return {"cpu_contention",
          "Other processes use the cores that decoding needs.",
          cost,
          decode_evidence(e),
          {},
          "let this run have the machine, or fewer jobs on it"};
}

Findings decode_findings(const Evidence& e, double cost) {
  Finding finding{"decode", "", cost, decode_evidence(e)};
  if (e.crowded()) return {crowded_out(e, cost)};
  if (e.free_cores() >= kFreeCores * e.cores) {
    const auto workers = std::max(kMoreDecoders * e.workers, counted(e.cores));
    finding.text = "Decoding holds the device up, and there is room for more workers.";
    finding.overrides = {fmt::format("loader.workers={}", workers)};
    if (!e.has_workers) finding.overrides.emplace_back("loader.type=prefetched");
    return {finding};
  }
  finding.text = "Decoding holds the device up, and every core is busy: less work for each sample.";
  if (setting(e.config, "decoder.scaled_decode") == "false") {
    finding.overrides = {"decoder.scaled_decode=true"};
  }
  finding.advice = "keep decoded samples in a cache, store smaller images, or use more cores";
  return {finding};
}

// Working ahead.

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
                  "for {}, beside {:.2f} s of the device's",
                  working, e.production_s(), plural(e.workers, "worker"), e.busy_s)};
  if (e.works_ahead && working + e.wait_s > 0) {
    lines.push_back(fmt::format("the workers had nothing to do in {:.0f} % of their time",
                                100 * e.wait_s / (working + e.wait_s)));
  }
  return lines;
}

// `cost` would go away if the workers never paused.
Finding no_pause(const Evidence& e, double cost) {
  Finding finding{"prefetch_depth", "", cost, pipeline_evidence(e)};
  if (e.total_s < kTinyStep * static_cast<double>(e.steps)) {
    finding.cause = "host_overhead";
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
    finding.overrides = {fmt::format(
        "loader.prefetch_batches={}",
        kDeeper *
            std::max<int64_t>(1, whole_setting(e.config, "loader.prefetch_batches").value_or(1)))};
  } else {
    finding.cause = "no_prefetch";
    finding.text = fmt::format(
        "Loader {} {}: reading and training take turns although they could go on side by side.",
        e.loader,
        whole_setting(e.config, "loader.samples_ahead").value_or(0) > 0
            ? "has samples ahead, but no batch"
            : "does nothing ahead");
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
          true};
}

constexpr double kAlwaysCopying = 0.85;  // share of the time

}  // namespace

Findings input_findings(const Evidence& e) {
  if (e.data_s <= 0) return {};
  if (only_first_epoch(e)) return {cold_cache(e)};
  if (e.strangers > 0 && e.read_s > e.decode_s) return {};  // sharing_findings() has them
  if ((e.crowded() || e.limited()) && e.works_ahead && e.decode_s >= e.read_s) {
    return decode_findings(e, e.share(e.data_s));
  }
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
         "mend or remove these files"});
  }
  return findings;
}

Findings copy_findings(const Evidence& e) {
  if (e.h2d_s <= 0) return {};
  const double cost = e.share(e.h2d_s);
  Finding finding{"h2d_copy", "", cost};
  finding.evidence = {
      fmt::format("the device waited {:.1f} % of its {:.1f} s for copies to it", 100 * cost,
                  e.total_s),
      fmt::format("copies were under way in {:.0f} % of the time", 100 * e.share(e.copy_s))};
  if (e.share(e.copy_s) > kAlwaysCopying) {
    finding.text =
        "Batches are copied to the device one after the other, without a pause: fewer bytes.";
    finding.advice = "smaller samples (decoder.size), or a faster link to the device";
  } else if (!e.copies_ahead) {
    finding.text = "Copies to the device are not hidden behind its work: make them ahead.";
    finding.overrides = {"loader.type=device_prefetched"};
  } else {
    finding.text = "Copies are made ahead, and still come late.";
    finding.advice = "larger loader.device_batches";
  }
  return {finding};
}

}  // namespace stoker

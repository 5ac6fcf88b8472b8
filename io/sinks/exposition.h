#pragma once

#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "io/metrics/machine/nvml.h"
#include "io/metrics/record/run_record.h"

namespace stoker {

// The table of figures in Prometheus's text format. Any thread; one reading at a time.
//
// A name is the figure's by rule (prometheus_name()), help texts are its definition and how it is
// measured. Beside the figures there are stoker_build_info, stoker_run_info, stoker_tier_info,
// whose labels say what a record says in words, and stoker_run_status, one series for each status.
class Exposition {
 public:
  // `hub` outlives it.
  explicit Exposition(Hub& hub) : hub_(hub) {}
  // All figures of a whole record, and what the run is in words. Never throws for what a record
  // holds. The first reading of a run on a GPU loads NVML; the time is counted as Overhead::scrape.
  std::string text();

 private:
  Hub& hub_;
  std::mutex mutex_;
  std::optional<Nvml> nvml_;
  std::optional<NvmlDevice> gpu_;
};

// /api/status, which the status page shows: the record (record_json.h), and beside it "health",
// "evaluations", and "history", the course of the run so far in columns of equal length.
// stalled_after_s: as for judge(). Any thread.
nlohmann::json status_json(const Hub& hub, double stalled_after_s);

// What a Pushgateway keeps of a run: how it ended, and the trainer's and the checkpoints' figures.
std::string outcome_text(const Hub& hub);

// What tells runs apart: the name of the directory.
std::string run_label(const RunInfo& info);

// The status page: a whole HTML document in UTF-8 that asks for api/status, relative to its own
// address, once a second, and for nothing else. It carries its content security policy; a header
// that forbids more must still allow inline script and style, data: images and connections to
// 'self'. Lives as long as the program. Any thread.
std::string_view status_page();

}  // namespace stoker

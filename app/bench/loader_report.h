#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/bench/batch_probe.h"
#include "app/bench/decode_ceiling.h"
#include "app/bench/loader.h"

namespace stoker {

// Everything that is known at the end of `stoker bench loader`.
struct LoaderReport {
  std::string type;  // of the loader
  nlohmann::json loader;
  nlohmann::json decoder;
  std::string device;
  int64_t workers = 0;
  LoaderBenchmark measured;
  BatchProbe probe;
  std::optional<DecodeCeiling> ceiling;
  std::string uncounted;  // why there are no counts of allocations and copies; empty: there are
};

// Figures that were not measured are absent. Under the names that the peers of tests/bench/peers
// use as well: workers, rates, per_cpu_s, cpu_s_per_1000, rss_mb, pss_mb, mean, shape, layout.
nlohmann::json loader_report_json(const LoaderReport& report);
std::string loader_report_text(const LoaderReport& report);

}  // namespace stoker

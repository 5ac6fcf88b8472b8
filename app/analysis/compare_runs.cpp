#include "app/analysis/compare_runs.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "app/analysis/compare.h"

namespace stoker {
namespace {

// "5%" or "0.05".
double share(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const bool percent = at + 1 == end && *at == '%';
  if (error != std::errc() || !(at == end || percent) || value < 0) {
    throw Error(ExitCode::config, "--threshold: '" + text + "': expected a share such as 5%");
  }
  return percent ? value / 100 : value;
}

std::vector<RunFiles> read(const std::vector<std::string>& directories) {
  std::vector<RunFiles> runs;
  runs.reserve(directories.size());
  for (const std::string& directory : directories) runs.push_back(read_run(directory));
  return runs;
}

}  // namespace

ExitCode compare_runs(CompareArguments arguments) {
  if (!arguments.pair.empty() && (arguments.pair.size() != 2 || !arguments.a.empty())) {
    throw Error(ExitCode::config, "compare: give two run directories, or sets by --a and --b");
  }
  if (!arguments.pair.empty()) {
    arguments.a = {arguments.pair[0]};
    arguments.b = {arguments.pair[1]};
  }
  if (arguments.a.empty() || arguments.b.empty()) {
    throw Error(ExitCode::config, "compare: two run directories are needed, or --a and --b");
  }
  const CompareMetric& metric = compare_metric(arguments.metric);
  const bool limited = !arguments.threshold.empty();
  const double threshold = limited ? share(arguments.threshold) : 0;
  const Comparison comparison = compare(read(arguments.a), read(arguments.b), metric);
  const bool missed = limited && misses(comparison, threshold);
  if (arguments.json) {
    nlohmann::json json = to_json(comparison);
    if (limited) json["threshold"] = {{"share", threshold}, {"missed", missed}};
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", to_text(comparison));
    if (missed)
      fmt::print("threshold missed: B is worse by more than {}, or cannot be compared\n",
                 arguments.threshold);
  }
  return missed ? ExitCode::threshold : ExitCode::ok;
}

}  // namespace stoker

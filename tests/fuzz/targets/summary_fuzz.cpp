#include <nlohmann/json.hpp>

#include "app/tools/report/compare.h"
#include "app/tools/report/report.h"
#include "io/core/text/json.h"
#include "tests/fuzz/target.h"

namespace stoker {
namespace {

// A line each: summary.json, environment.json, config.yaml; the rest is steps.csv.
RunFiles run_of(Bytes input) {
  const std::vector<std::string_view> texts = fuzz::lines(input, 4);
  RunFiles run;
  run.directory = "fuzz";
  run.summary = parse_run_json(texts[0], "summary.json");
  if (!texts[1].empty()) run.environment = parse_run_json(texts[1], "environment.json");
  run.config = texts[2];
  run.steps = Table::parse(texts[3], "steps.csv");
  return run;
}

template <class F>
void use(F&& f) {
  try {
    using_files_of({"fuzz"}, f);
  } catch (const Error& error) {
    fuzz::require(error.code() != ExitCode::bug, error.what());
  }
}

}  // namespace
}  // namespace stoker

// What a verdict, a report and a comparison make of a run's files.
STOKER_FUZZ_TARGET(summary) {
  using namespace stoker;
  RunFiles run = run_of(input);
  use([&] { (void)json_text(nlohmann::json(verdict_of(run))); });
  use([&] { (void)json_text(run_page_data({run})); });
  run.steps = {};  // else most of the time is the bootstrap's, which table_fuzz.cpp has
  use([&] {
    const Comparison found = compare({run}, {run}, compare_metrics().front());
    (void)json_text(to_json(found));
    (void)to_text(found);
  });
}

#include "app/analysis/sweep_page.h"

#include <nlohmann/json.hpp>

#include "app/analysis/report_page.h"
#include "io/core/error.h"

namespace stoker {
namespace {

void check_schema(const nlohmann::json& results) {
  if (!results.is_object() || results.value("schema_version", nlohmann::json()) != 1) {
    throw Error(ExitCode::environment,
                "results.json: expected schema_version 1: was it written by `stoker sweep` of this "
                "release?");
  }
}

}  // namespace

std::string sweep_page(const nlohmann::json& results) {
  check_schema(results);
  nlohmann::json data = results;
  data["kind"] = "sweep";
  return report_html(std::move(data));
}

std::string sweeps_page(const std::vector<nlohmann::json>& results) {
  for (const nlohmann::json& sweep : results) check_schema(sweep);
  return report_html({{"kind", "sweeps"}, {"sweeps", results}});
}

}  // namespace stoker

#include "app/analysis/sweep_page.h"

#include <nlohmann/json.hpp>

#include "app/analysis/report_page.h"
#include "io/core/error.h"

namespace stoker {

std::string sweep_page(const nlohmann::json& results) {
  if (!results.is_object() || results.value("schema_version", nlohmann::json()) != 1) {
    throw Error(ExitCode::environment,
                "results.json: expected schema_version 1: was it written by `stoker sweep` of this "
                "release?");
  }
  nlohmann::json data = results;
  data["kind"] = "sweep";
  return report_html(std::move(data));
}

}  // namespace stoker

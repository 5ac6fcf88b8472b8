#include "app/experiment/check.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/json.h"
#include "app/experiment/options.h"

namespace stoker {

ExitCode check_experiment(const ConfigArguments& arguments, bool json) {
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  fmt::print("{}", json ? to_json(dump_struct(options)).dump(2) + "\n" : resolved_yaml(options));
  return ExitCode::ok;
}

}  // namespace stoker

#include "app/experiment/check.h"

#include <nlohmann/json.hpp>

#include "app/base/command_line.h"
#include "app/base/result_table.h"
#include "app/experiment/experiment_options.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

// What `list` and `describe` show of this half, from when this library is loaded.
const OtherHalf& shown = other_half() = {
    [] {
      return std::vector<ComponentKind>{component_kind<Device>(),    component_kind<Model>(),
                                        component_kind<Loss>(),      component_kind<Metric>(),
                                        component_kind<Optimizer>(), component_kind<Schedule>()};
    },
    [] { return describe_struct<ExperimentOptions>(); }};

}  // namespace

ExitCode check_experiment(const ConfigArguments& arguments) {
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  return print_result(arguments.json, to_json(dump_struct(options)), resolved_yaml(options), 2);
}

}  // namespace stoker

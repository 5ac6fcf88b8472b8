#include "app/experiment/experiment_options.h"
#include "app/tools/doctor/expected_gain.h"
#include "app/tools/simulate/measured.h"
#include "app/tools/simulate/steady.h"
#include "io/core/error.h"

namespace stoker {
namespace {

// Asks the engine for the doctor.
class SimulatedGain final : public ExpectedGain {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  SimulatedGain(Options, const Inputs&) {}

  std::optional<double> of(const std::string& run,
                           const std::vector<std::string>& overrides) override {
    MeasuredInputs found = measured_inputs(run, SampleSizes::mean);
    SimulationInputs inputs = read_simulation(std::move(found.tree));
    if (inputs.options.workload.data.whole_files) return std::nullopt;
    const double now = simulate_steady(inputs).images_per_s;
    const ExperimentOptions changed = read_experiment(run + "/config.yaml", overrides, {});
    inputs.options.workload.loader = changed.loader;
    if (now <= 0) return std::nullopt;
    return simulate_steady(inputs).images_per_s / now - 1;
  }
};

STOKER_REGISTER(ExpectedGain, "simulated", SimulatedGain);

}  // namespace
}  // namespace stoker

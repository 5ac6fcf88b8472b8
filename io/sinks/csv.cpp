#include "io/metrics/sink.h"
#include "io/sinks/csv_file.h"
#include "io/sinks/step_figures.h"

namespace stoker {
namespace {

// steps.csv in the run directory: a row of step_figures() per report.
class Csv final : public MetricsSink {
 public:
  using Options = NoOptions;
  Csv(Options, const Inputs& inputs) : file_(inputs.run_dir + "/steps.csv") {}

  void write(const RunRecord& run, const RunRecord& window) override {
    file_.add(figure_row(step_figures(), run, window));
  }

 private:
  CsvFile file_;
};

STOKER_REGISTER(MetricsSink, "csv", Csv);

}  // namespace
}  // namespace stoker

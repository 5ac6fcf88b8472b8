#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "io/metrics/record/record_json.h"
#include "io/metrics/sink.h"
#include "io/sinks/output_file.h"
#include "io/sinks/shared.h"

namespace stoker {
namespace {

// steps.jsonl in the run directory: an object of step_figures() per report, laid out as
// summary.json. What was not measured is left out; what is no number (a loss of NaN) is null.
class Jsonl final : public MetricsSink {
 public:
  using Options = NoOptions;
  Jsonl(Options, const Inputs& inputs) : file_(inputs.run_dir + "/steps.jsonl") {}

  void write(const RunRecord& run, const RunRecord& window) override {
    file_.write(json_text(to_json(step_figures(), run, window)) + "\n");
  }

 private:
  const OutputFile file_;
};

STOKER_REGISTER(MetricsSink, "jsonl", Jsonl);

}  // namespace
}  // namespace stoker

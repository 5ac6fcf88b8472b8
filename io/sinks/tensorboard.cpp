#include <algorithm>
#include <string>

#include "io/metrics/sink.h"
#include "io/sinks/event_file.h"
#include "io/sinks/step_figures.h"

namespace stoker {
namespace {

// An event file in the run directory, with step_figures() of every report as scalars. A tag is the
// figure's name with slashes for dots, as what stands before a slash is a group of cards on
// TensorBoard's page. What was not measured has no point.
class TensorBoard final : public MetricsSink {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  TensorBoard(Options, const Inputs& inputs) : file_(inputs.run_dir) {}

  void write(const RunRecord& run, const RunRecord& window) override {
    Scalars scalars;
    for (RowField& field : figure_row(step_figures(), run, window)) {
      std::ranges::replace(field.name, '.', '/');
      if (field.value) scalars.emplace_back(std::move(field.name), *field.value);
    }
    file_.add(run.run.totals.steps, scalars);
  }

 private:
  EventFile file_;
};

STOKER_REGISTER(MetricsSink, "tensorboard", TensorBoard);

}  // namespace
}  // namespace stoker

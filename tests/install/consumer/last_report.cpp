// A sink: the newest report in a file of one line.
#include <fstream>

#include "io/metrics/record/run_record.h"
#include "io/metrics/sink.h"

namespace {

using namespace stoker;

class LastReport final : public MetricsSink {
 public:
  struct Options {
    std::string file = "last_report.txt";
    template <class V>
    void visit(V& v) {
      v("file", file, "its name in the run directory");
    }
  };
  LastReport(const Options& options, const Inputs& inputs)
      : path_(inputs.run_dir + "/" + options.file) {}
  void write(const RunRecord& run, const RunRecord&) override {
    std::ofstream(path_) << "step " << run.run.totals.steps << " loss " << run.run.loss.value_or(0)
                         << "\n";
  }

 private:
  const std::string path_;
};

STOKER_REGISTER(MetricsSink, "last_report", LastReport);

}  // namespace

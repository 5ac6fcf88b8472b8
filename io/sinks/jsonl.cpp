#include <fcntl.h>

#include <nlohmann/json.hpp>
#include <string>

#include "io/core/file.h"
#include "io/metrics/record/record_json.h"
#include "io/metrics/sink.h"
#include "io/sinks/step_figures.h"

namespace stoker {
namespace {

// steps.jsonl in the run directory: an object of step_figures() per report, laid out as
// summary.json. What was not measured is left out; what is no number (a loss of NaN) is null.
class Jsonl final : public MetricsSink {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  Jsonl(Options, const Inputs& inputs)
      : path_(inputs.run_dir + "/steps.jsonl"),
        file_(open_file("create", path_, O_WRONLY | O_CREAT | O_EXCL)) {}

  // In one write each: a process that is killed leaves whole lines.
  void write(const RunRecord& run, const RunRecord& window) override {
    const std::string line = to_json(step_figures(), run, window).dump() + "\n";
    write_all(file_, {reinterpret_cast<const uint8_t*>(line.data()), line.size()}, path_);
  }

 private:
  const std::string path_;
  const FileDescriptor file_;
};

STOKER_REGISTER(MetricsSink, "jsonl", Jsonl);

}  // namespace
}  // namespace stoker

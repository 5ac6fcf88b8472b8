#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "io/core/error.h"
#include "io/metrics/sink.h"
#include "io/sinks/stdio_file.h"

namespace stoker {
namespace {

// steps.csv in the run directory: one row per report; an empty field was not measured.
class Csv final : public MetricsSink {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  Csv(Options, const Inputs& inputs)
      : path_(inputs.run_dir + "/steps.csv"), file_(std::fopen(path_.c_str(), "wx")) {
    if (file_ == nullptr) throw_errno("create", path_, errno);
    // A process that is killed leaves whole rows.
    std::setvbuf(file_.get(), nullptr, _IOLBF, BUFSIZ);
  }

  void write(const StepReport& r) override {
    if (rows_++ == 0) header(r);
    std::string row = fmt::format("{},{},{},{:.6f},{:.6f},{:.3f}", r.step, r.epoch, r.images,
                                  r.wall_s, r.window_s, r.images_per_s);
    row += r.loss ? fmt::format(",{:.9g}", *r.loss) : ",";
    row += fmt::format(",{:.9g},{:.6f}", r.learning_rate, r.io_share);
    row += r.device_idle ? fmt::format(",{:.6f}", *r.device_idle) : ",";
    for (const auto& [segment, time] : r.segments) row += fmt::format(",{:.6f}", time);
    if (r.checkpoints) {
      const CheckpointReport& c = *r.checkpoints;
      row += fmt::format(",{},{},{},", c.saved, c.failed, c.drains_left);
      if (c.durable_step) row += std::to_string(*c.durable_step);
    }
    put(row);
  }

  void flush() override {
    if (std::fflush(file_.get()) != 0) throw_errno("write", path_, errno);
  }

 private:
  void header(const StepReport& r) {
    std::string text =
        "step,epoch,images,wall_s,window_s,images_per_s,loss,learning_rate,io_share,device_idle";
    for (const auto& [segment, time] : r.segments) text += "," + segment + "_s";
    if (r.checkpoints) {
      text += ",checkpoints_saved,checkpoints_failed,drains_left,durable_step";
    }
    put(text);
  }

  void put(const std::string& text) {
    if (std::fprintf(file_.get(), "%s\n", text.c_str()) < 0) throw_errno("write", path_, errno);
  }

  const std::string path_;
  StdioFile file_;
  int64_t rows_ = 0;
};

STOKER_REGISTER(MetricsSink, "csv", Csv);

}  // namespace
}  // namespace stoker

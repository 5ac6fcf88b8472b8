#include <fcntl.h>

#include <nlohmann/json.hpp>
#include <string>

#include "io/core/file.h"
#include "io/metrics/sink.h"

namespace stoker {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

Json named(const std::vector<std::pair<std::string, double>>& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = value;
  return json;
}

Json to_json(const CheckpointReport& c) {
  Json json = {{"saved", c.saved},
               {"failed", c.failed},
               {"skipped", c.skipped},
               {"replaced", c.replaced},
               {"drained", c.drained},
               {"drain_retries", c.drain_retries},
               {"drains_left", c.drains_left}};
  put(json, "saved_step", c.saved_step);
  put(json, "durable_step", c.durable_step);
  json["set_bytes"] = c.set_bytes;
  json["degraded"] = c.degraded;
  if (!c.last_error.empty()) json["last_error"] = c.last_error;
  return json;
}

Json to_json(const StepReport& r) {
  Json json = {{"step", r.step},     {"steps_planned", r.steps_planned},
               {"epoch", r.epoch},   {"images", r.images},
               {"wall_s", r.wall_s}, {"window_s", r.window_s},
               {"eta_s", r.eta_s},   {"images_per_s", r.images_per_s}};
  put(json, "loss", r.loss);
  json["learning_rate"] = r.learning_rate;
  put(json, "top1", r.top1);
  put(json, "top5", r.top5);
  json["io_share"] = r.io_share;
  json["segments_s"] = named(r.segments);
  put(json, "device_idle", r.device_idle);
  if (!r.idle_by_cause.empty()) json["idle_by_cause"] = named(r.idle_by_cause);
  if (r.checkpoints) json["checkpoints"] = to_json(*r.checkpoints);
  return json;
}

// steps.jsonl in the run directory: one object per report, with the names of StepReport. What was
// not measured is left out; what is no number (a loss of NaN) is null.
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
  void write(const StepReport& report) override {
    // Messages name files, whose names need not be UTF-8.
    const std::string line =
        to_json(report).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    write_all(file_, {reinterpret_cast<const uint8_t*>(line.data()), line.size()}, path_);
  }

 private:
  const std::string path_;
  const FileDescriptor file_;
};

STOKER_REGISTER(MetricsSink, "jsonl", Jsonl);

}  // namespace
}  // namespace stoker

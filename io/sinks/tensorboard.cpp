#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <string>

#include "io/core/crc32c.h"
#include "io/core/wire/protobuf.h"
#include "io/core/wire/tfrecord.h"
#include "io/metrics/clock.h"
#include "io/metrics/sink.h"
#include "io/sinks/output_file.h"
#include "io/sinks/step_figures.h"

namespace stoker {
namespace {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  return ::gethostname(name, sizeof name) == 0 ? name : "localhost";
}

std::string event_at_now() {
  return wire_number(1, WireType::fixed64, std::bit_cast<uint64_t>(unix_now()));
}

// A TensorBoard event file in the run directory, events.out.tfevents.<time>.<host>.<pid>.0: records
// that each hold one protocol buffer of type Event.
//
//   record = as io/core/wire/tfrecord.h says
//   event  = 1: seconds (double), 2: step, 3: version (first record only), 5: summary
//   summary = value*,  value = 1: tag, 2: number (float)
//
// step_figures() of every report are its scalars. A tag is the figure's name with slashes for dots,
// as what stands before a slash is a group of cards on TensorBoard's page. What was not measured
// has no point.
class TensorBoard final : public MetricsSink {
 public:
  using Options = NoOptions;
  TensorBoard(Options, const Inputs& inputs)
      : file_(fmt::format("{}/events.out.tfevents.{:010}.{}.{}.0", inputs.run_dir,
                          static_cast<int64_t>(unix_now()), host_name(), ::getpid())) {
    put(event_at_now() + wire_bytes(3, "brain.Event:2"));
  }

  void write(const RunRecord& run, const RunRecord& window) override {
    std::string summary;
    for (RowField& one : figure_row(step_figures(), run, window)) {
      if (!one.value) continue;
      std::ranges::replace(one.name, '.', '/');
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(*one.value));
      summary += wire_bytes(1, wire_bytes(1, one.name) + wire_number(2, WireType::fixed32, bits));
    }
    const auto step = static_cast<uint64_t>(run.run.totals.steps);
    put(event_at_now() + wire_number(2, WireType::varint, step) + wire_bytes(5, summary));
  }

 private:
  void put(const std::string& event) const {
    const auto head = record_head(event.size());
    const auto tail =
        record_tail(crc32c({reinterpret_cast<const uint8_t*>(event.data()), event.size()}));
    file_.write(std::string(head.begin(), head.end()) + event +
                std::string(tail.begin(), tail.end()));
  }

  const OutputFile file_;
};

STOKER_REGISTER(MetricsSink, "tensorboard", TensorBoard);

}  // namespace
}  // namespace stoker

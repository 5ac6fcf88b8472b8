#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <string>

#include "io/core/crc32c.h"
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

template <class T>
std::string little_endian(T value) {
  std::string text;
  for (size_t i = 0; i < sizeof value; ++i) {
    text += static_cast<char>(static_cast<uint8_t>(value >> (8 * i)));
  }
  return text;
}

// So that the CRC of data that holds CRCs is not degenerate (TensorFlow's record format).
std::string masked_crc(const std::string& text) {
  const Bytes bytes{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  return little_endian(std::rotr(crc32c(bytes), 15) + 0xa282ead8u);
}

// What a protocol buffer is made of. A field begins with its number and the form of its value.
enum class Form : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(0x80 | (value & 0x7f));
  return text += static_cast<char>(value);
}

std::string field(int number, Form form, const std::string& value) {
  return static_cast<char>(number << 3 | static_cast<int>(form)) + value;
}

std::string field(int number, const std::string& bytes) {
  return field(number, Form::bytes, varint(bytes.size()) + bytes);
}

std::string event_at_now() {
  return field(1, Form::fixed64, little_endian(std::bit_cast<uint64_t>(unix_now())));
}

// A TensorBoard event file in the run directory, events.out.tfevents.<time>.<host>.<pid>.0: records
// that each hold one protocol buffer of type Event.
//
//   record = length (u64, little-endian), masked CRC-32C of it, event, masked CRC-32C of the event
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
    put(event_at_now() + field(3, "brain.Event:2"));
  }

  void write(const RunRecord& run, const RunRecord& window) override {
    std::string summary;
    for (RowField& one : figure_row(step_figures(), run, window)) {
      if (!one.value) continue;
      std::ranges::replace(one.name, '.', '/');
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(*one.value));
      summary += field(1, field(1, one.name) + field(2, Form::fixed32, little_endian(bits)));
    }
    const auto step = static_cast<uint64_t>(run.run.totals.steps);
    put(event_at_now() + field(2, Form::varint, varint(step)) + field(5, summary));
  }

 private:
  void put(const std::string& event) const {
    const std::string length = little_endian(uint64_t{event.size()});
    file_.write(length + masked_crc(length) + event + masked_crc(event));
  }

  const OutputFile file_;
};

STOKER_REGISTER(MetricsSink, "tensorboard", TensorBoard);

}  // namespace
}  // namespace stoker

#include "io/sinks/event_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <climits>

#include "io/core/crc32c.h"
#include "io/metrics/unix_time.h"

namespace stoker {
namespace {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  return ::gethostname(name, sizeof name) == 0 ? name : "localhost";
}

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
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
  return little_endian(std::rotr(crc32c(bytes_of(text)), 15) + 0xa282ead8u);
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

}  // namespace

EventFile::EventFile(const std::string& directory)
    : path_(fmt::format("{}/events.out.tfevents.{:010}.{}.{}.0", directory,
                        static_cast<int64_t>(unix_now()), host_name(), ::getpid())),
      file_(open_file("create", path_, O_WRONLY | O_CREAT | O_EXCL)) {
  put(event_at_now() + field(3, "brain.Event:2"));
}

void EventFile::add(int64_t step, const Scalars& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(number));
    summary += field(1, field(1, tag) + field(2, Form::fixed32, little_endian(bits)));
  }
  put(event_at_now() + field(2, Form::varint, varint(static_cast<uint64_t>(step))) +
      field(5, summary));
}

void EventFile::put(const std::string& event) {
  const std::string length = little_endian(uint64_t{event.size()});
  const std::string record = length + masked_crc(length) + event + masked_crc(event);
  write_all(file_, bytes_of(record), path_);
}

}  // namespace stoker

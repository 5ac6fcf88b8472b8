#include "tests/profiler/wrap/told.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <mutex>

#include "io/profiler/io_recorder.h"

namespace stoker {
namespace {

std::mutex mutex;
std::vector<std::string>& words() {
  static std::vector<std::string> all;
  return all;
}

// Times are looked at here, for all: a call ends after it has begun.
template <class... Parts>
void told(Told::Kind kind, CallTime time, const char* what, const Parts&... parts) {
  Told& all = Told::instance();
  ++all.calls[kind];
  if (!all.in_words) return;
  std::string line = what;
  [[maybe_unused]] const auto add = [&](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) {
      line += " " + std::to_string(part);
    } else {
      line += std::string(" ") + part;
    }
  };
  (add(parts), ...);
  if (time.begin_ns > time.end_ns) line += " backwards";
  const std::lock_guard lock(mutex);
  words().push_back(line);
}

std::string where(int64_t offset) { return offset < 0 ? "on" : "at " + std::to_string(offset); }

std::string place(int directory, const char* path) {
  return (directory == AT_FDCWD ? "" : "below: ") + std::string(path);
}

}  // namespace

Told& Told::instance() {
  static Told all;
  return all;
}

void Told::clear() {
  for (auto& count : calls) count = 0;
  const std::lock_guard lock(mutex);
  words().clear();
}

std::vector<std::string> Told::lines() const {
  const std::lock_guard lock(mutex);
  return words();
}

IoRecorder& IoRecorder::instance() {
  // None of the members below uses it as what it is.
  alignas(IoRecorder) static std::array<std::byte, sizeof(IoRecorder)> nothing;
  return *reinterpret_cast<IoRecorder*>(nothing.data());
}

void IoRecorder::opened(int, int directory, const char* path, CallTime time, int mode) {
  const std::string file = place(directory, path);
  mode == 0 ? told(Told::opened, time, "opened", file)
            : told(Told::opened, time, "opened", file, mode);
}
void IoRecorder::named(int, const char*) { ++Told::instance().calls[Told::named]; }
void IoRecorder::closed(int, CallTime time) { told(Told::closed, time, "closed"); }
void IoRecorder::closed_range(unsigned, unsigned) {}
void IoRecorder::duplicated(int, int, CallTime time) { told(Told::duplicated, time, "duplicated"); }
void IoRecorder::read(int, int64_t bytes, int64_t offset, const void*, CallTime time) {
  told(Told::read, time, "read", bytes, where(offset));
}
void IoRecorder::wrote(int, int64_t bytes, int64_t offset, const void*, CallTime time) {
  told(Told::wrote, time, "wrote", bytes, where(offset));
}
void IoRecorder::seeked(int, int64_t position, CallTime time) {
  told(Told::seeked, time, "seeked", position);
}
void IoRecorder::stated(int, const struct stat& what, CallTime time) {
  told(Told::stated, time, "stated", what.st_size);
}
void IoRecorder::stated(int directory, const char* path, const struct stat& what, CallTime time) {
  told(Told::stated, time, "stated", place(directory, path), what.st_size);
}
void IoRecorder::mapped(int, CallTime time) { told(Told::mapped, time, "mapped"); }
void IoRecorder::synced(int, bool data_only, CallTime time) {
  told(Told::synced, time, data_only ? "synced data" : "synced");
}
void IoRecorder::renamed(int from_directory, const char* from, int to_directory, const char* to,
                         CallTime time) {
  told(Told::renamed, time, "renamed", place(from_directory, from), place(to_directory, to));
}
void IoRecorder::stream_opened(FILE*, const char* path, CallTime time) {
  told(Told::stream_opened, time, "stream opened", path);
}
void IoRecorder::stream_opened(FILE*, int, CallTime time) {
  told(Told::stream_opened, time, "stream opened");
}
void IoRecorder::stream_asked_for_descriptor(FILE*, int, CallTime time) {
  told(Told::stream_asked, time, "stream asked");
}
void IoRecorder::stream_read(FILE*, int64_t bytes, CallTime time) {
  told(Told::stream_read, time, "stream read", bytes);
}
void IoRecorder::stream_wrote(FILE*, int64_t bytes, CallTime time) {
  told(Told::stream_wrote, time, "stream wrote", bytes);
}
void IoRecorder::stream_seeked(FILE*, int64_t position, CallTime time) {
  told(Told::stream_seeked, time, "stream seeked", position);
}
void IoRecorder::stream_flushed(FILE*, CallTime time) {
  told(Told::stream_flushed, time, "stream flushed");
}
void IoRecorder::stream_closed(FILE*, CallTime time) {
  told(Told::stream_closed, time, "stream closed");
}

}  // namespace stoker

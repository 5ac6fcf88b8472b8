#include "io/profiler/log/log_region.h"

#include <algorithm>
#include <cstring>

#include "io/core/error.h"

namespace stoker {

void LogRegion::fail(const std::string& why) const {
  throw Error(ExitCode::data, source_.what + ": " + why);
}

bool LogRegion::refill() {
  ready_ = {};
  if (source_.compression == DarshanFormat::kNone) {
    const size_t size = std::min(source_.bytes.size(), buffer_.size());
    ready_ = source_.bytes.first(size);
    source_.bytes = source_.bytes.subspan(size);
    return size > 0;
  }
  while (ready_.empty()) {
    if (source_.bytes.empty() && !stream_) return false;
    if (!stream_) stream_ = Unpacker::begin(source_.compression);
    const auto step = stream_->step(source_.bytes, buffer_);
    if (!step) fail("damaged, or cut off: it cannot be decompressed");
    source_.bytes = source_.bytes.subspan(step->taken);
    ready_ = {buffer_.data(), step->made};
    if (step->ended) stream_.reset();
  }
  return true;
}

size_t LogRegion::take(std::span<uint8_t> to) {
  size_t done = 0;
  while (done < to.size() && (!ready_.empty() || refill())) {
    const size_t size = std::min(ready_.size(), to.size() - done);
    std::memcpy(to.data() + done, ready_.data(), size);
    ready_ = ready_.subspan(size);
    done += size;
  }
  return done;
}

bool LogRegion::read(std::span<uint8_t> to) {
  const size_t size = take(to);
  if (size > 0 && size < to.size()) fail("it ends in the middle of a record");
  return size == to.size();
}

bool LogRegion::read(std::span<uint64_t> to) {
  if (!read({reinterpret_cast<uint8_t*>(to.data()), to.size_bytes()})) return false;
  if (source_.swapped) {
    for (uint64_t& number : to) number = __builtin_bswap64(number);
  }
  return true;
}

std::string LogRegion::read_text(size_t most) {
  std::string text;
  while (!ready_.empty() || refill()) {
    const auto end = std::ranges::find(ready_, uint8_t{0});
    const size_t size = end - ready_.begin();
    if (size > most - text.size()) fail("a name is longer than any");
    text.append(reinterpret_cast<const char*>(ready_.data()), size);
    const bool ended = size < ready_.size();
    ready_ = ready_.subspan(size + (ended ? 1 : 0));
    if (ended) return text;
  }
  fail("it ends in the middle of a name");
}

std::string LogRegion::read_counted_text(size_t most) {
  std::array<uint8_t, 4> length;
  uint32_t size;
  if (!read(std::span<uint8_t>(length))) fail("it ends in the middle of a name");
  std::memcpy(&size, length.data(), sizeof size);
  if (source_.swapped) size = __builtin_bswap32(size);
  if (size > most) fail("a name is longer than any");
  std::string text = read_rest(size);
  if (text.size() < size) fail("it ends in the middle of a name");
  return text;
}

std::string LogRegion::read_rest(size_t most) {
  std::string text(most, '\0');
  text.resize(take({reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  return text;
}

}  // namespace stoker

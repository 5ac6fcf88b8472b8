#include "io/profiler/log/log_region.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "io/core/error.h"

namespace stoker {

LogRegion::LogRegion(Source source) : source_(std::move(source)) {
  if (source_.packed && ::inflateInit(&stream_) != Z_OK) throw std::bad_alloc();
}

LogRegion::~LogRegion() {
  if (source_.packed) ::inflateEnd(&stream_);
}

void LogRegion::fail(const std::string& why) const {
  throw Error(ExitCode::data, source_.what + ": " + why);
}

bool LogRegion::refill() {
  ready_ = {};
  if (!source_.packed) {
    const size_t size = std::min(source_.bytes.size(), buffer_.size());
    ready_ = source_.bytes.first(size);
    source_.bytes = source_.bytes.subspan(size);
    return size > 0;
  }
  while (ready_.empty()) {
    if (source_.bytes.empty() && !within_) return false;
    const size_t given = std::min(source_.bytes.size(), size_t{1} << 30);  // of 32 bits there
    stream_.next_in = const_cast<Bytef*>(source_.bytes.data());  // zlib's interface is older
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = buffer_.data();
    stream_.avail_out = static_cast<uInt>(buffer_.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    source_.bytes = source_.bytes.subspan(given - stream_.avail_in);
    ready_ = {buffer_.data(), buffer_.size() - stream_.avail_out};
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END)
      fail("damaged, or cut off: it cannot be inflated");
    within_ = result == Z_OK;
    if (!within_) ::inflateReset(&stream_);
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

std::string LogRegion::read_rest(size_t most) {
  std::string text(most, '\0');
  text.resize(take({reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  return text;
}

}  // namespace stoker

#include "io/profiler/log/log_region.h"

#include <bzlib.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/memory.h"

namespace stoker {

// One compressed stream of a Darshan log, unpacked piece by piece. One thread at a time; it owns no
// bytes.
class Unpacker {
 public:
  struct Step {
    size_t taken = 0, made = 0;  // bytes of both sides
    bool ended = false;          // the stream has; what was not taken is behind it
  };
  // At the begin of a stream. std::bad_alloc. Not for DarshanFormat::kNone.
  static std::unique_ptr<Unpacker> begin(DarshanFormat::Compression compression);
  virtual ~Unpacker() = default;
  // From `packed` into `to`, as far as both go. Nothing: it is damaged, or needs more bytes.
  virtual std::optional<Step> step(Bytes packed, std::span<uint8_t> to) = 0;
};

namespace {

struct Zlib {
  using Stream = z_stream;
  using Byte = Bytef;
  static constexpr int kMore = Z_OK, kEnd = Z_STREAM_END, kNoMemory = Z_MEM_ERROR;
  static int begin(Stream& stream) { return inflateInit(&stream); }
  static int run(Stream& stream) { return ::inflate(&stream, Z_NO_FLUSH); }
  static void end(Stream& stream) { ::inflateEnd(&stream); }
};

struct Bzip2 {
  using Stream = bz_stream;
  using Byte = char;
  static constexpr int kMore = BZ_OK, kEnd = BZ_STREAM_END, kNoMemory = BZ_MEM_ERROR;
  static int begin(Stream& stream) { return ::BZ2_bzDecompressInit(&stream, 0, 0); }
  static int run(Stream& stream) { return ::BZ2_bzDecompress(&stream); }
  static void end(Stream& stream) { ::BZ2_bzDecompressEnd(&stream); }
};

template <class Library>
class LibraryUnpacker final : public Unpacker {
 public:
  LibraryUnpacker() {
    if (Library::begin(stream_) != Library::kMore) throw std::bad_alloc();
  }
  ~LibraryUnpacker() override { Library::end(stream_); }
  LibraryUnpacker(const LibraryUnpacker&) = delete;
  LibraryUnpacker& operator=(const LibraryUnpacker&) = delete;

  std::optional<Step> step(Bytes packed, std::span<uint8_t> to) override {
    using Byte = typename Library::Byte;
    const size_t given = std::min(packed.size(), size_t{1} << 30);  // of 32 bits there
    // Their interfaces are older than const.
    stream_.next_in = reinterpret_cast<Byte*>(const_cast<uint8_t*>(packed.data()));
    stream_.avail_in = static_cast<unsigned>(given);
    stream_.next_out = reinterpret_cast<Byte*>(to.data());
    stream_.avail_out = static_cast<unsigned>(to.size());
    const int result = Library::run(stream_);
    if (result == Library::kNoMemory) throw std::bad_alloc();
    const Step step{given - stream_.avail_in, to.size() - stream_.avail_out,
                    result == Library::kEnd};
    if (!step.ended && (result != Library::kMore || step.taken + step.made == 0)) {
      return std::nullopt;
    }
    return step;
  }

 private:
  typename Library::Stream stream_{};
};

}  // namespace

std::unique_ptr<Unpacker> Unpacker::begin(DarshanFormat::Compression compression) {
  if (compression == DarshanFormat::kBzip2) return std::make_unique<LibraryUnpacker<Bzip2>>();
  return std::make_unique<LibraryUnpacker<Zlib>>();
}

LogRegion::LogRegion(Source source) : source_(std::move(source)) {}

LogRegion::~LogRegion() = default;

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

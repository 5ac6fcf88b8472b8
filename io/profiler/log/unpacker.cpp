#include "io/profiler/log/unpacker.h"

#include <bzlib.h>
#include <zlib.h>

#include <algorithm>
#include <new>

namespace stoker {
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

}  // namespace stoker

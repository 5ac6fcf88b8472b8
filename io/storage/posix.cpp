#include <fcntl.h>

#include <utility>

#include "io/storage/file_objects.h"
#include "io/storage/file_reads.h"

namespace stoker {
namespace {

enum class ReadMode { pread, tensorflow, mmap };
EnumNames<ReadMode> enum_names(ReadMode) {
  return {
      {"pread", ReadMode::pread}, {"tensorflow", ReadMode::tensorflow}, {"mmap", ReadMode::mmap}};
}

enum class Advice {
  normal = POSIX_FADV_NORMAL,
  sequential = POSIX_FADV_SEQUENTIAL,
  random = POSIX_FADV_RANDOM,
  willneed = POSIX_FADV_WILLNEED,
  dontneed = POSIX_FADV_DONTNEED
};
EnumNames<Advice> enum_names(Advice) {
  return {{"normal", Advice::normal},
          {"sequential", Advice::sequential},
          {"random", Advice::random},
          {"willneed", Advice::willneed},
          {"dontneed", Advice::dontneed}};
}

// A longer range need not be one of a known length, and is not made room for before it is known.
constexpr uint64_t kMostAtOnce = 16 << 20;

struct PosixOptions {
  Path root;
  ReadMode read = ReadMode::pread;
  Advice advice = Advice::normal;
  template <class V>
  void visit(V& v) {
    v.required("root", root, "The directory that holds the objects.");
    v("read", read,
      "`pread`: one call reads the whole range. `tensorflow`: read pieces of 1 MiB until one is "
      "empty and call no fstat, as TensorFlow 1.10 does. `mmap`: map the file, populate the pages "
      "and copy them.");
    v("advice", advice,
      "The advice that posix_fadvise gives the kernel before each read. `dontneed` is given after "
      "the read, so that it leaves nothing in the page cache.");
  }
  StorageInfo info() const {
    return {.read_piece = read == ReadMode::tensorflow ? kReadPiece : 0, .folders = {root.value}};
  }
};

// Objects are files below a directory, through the page cache.
class PosixStorage final : public FileObjects {
 public:
  using Options = PosixOptions;
  PosixStorage(Options options, const Inputs& inputs)
      : FileObjects(std::move(options.root.value), FileAccess::buffered, inputs),
        mode_(options.read),
        advice_(options.advice) {
    if (mode_ == ReadMode::mmap && !can_copy_mapped()) {
      mode_ = ReadMode::pread;
      inputs.remark("process_vm_readv is refused here: reads are by pread instead of mmap");
    }
  }

  void read(const std::string& key, Buffer& out, Range range) const override {
    if (mode_ == ReadMode::tensorflow) return read_as_tensorflow(key, out, range);
    const bool plain = mode_ == ReadMode::pread && advice_ == Advice::normal;
    if (plain && range.length <= kMostAtOnce && read_at_once(key, out, range)) return;
    const auto read = [this](const ObjectFile& file, uint8_t* data, uint64_t bytes,
                             uint64_t offset) {
      advise_before(file.file, offset, bytes);
      const int64_t count = mode_ == ReadMode::mmap ? read_mapped(file, data, bytes, offset)
                                                    : pread_file(file, data, bytes, offset);
      advise_after(file.file, offset, bytes);
      return count;
    };
    read_by(read, key, out, range);
  }

 private:
  void read_as_tensorflow(const std::string& key, Buffer& out, Range range) const {
    const std::string path = path_of(key);
    const ObjectFile file{path, open_regular("read", path, O_RDONLY)};
    if (!file.file) throw_errno("read", path, ENOENT);
    advise_before(file.file, range.offset, range.length);
    read_to_the_end(file, out, range);
    advise_after(file.file, range.offset, range.length);
  }

  // What cannot be advised is read all the same.
  void advise_before(const FileDescriptor& file, uint64_t offset, uint64_t bytes) const {
    if (advice_ == Advice::normal || advice_ == Advice::dontneed) return;
    advise(file, offset, bytes, static_cast<int>(advice_));
  }
  void advise_after(const FileDescriptor& file, uint64_t offset, uint64_t bytes) const {
    if (advice_ == Advice::dontneed) advise(file, offset, bytes, POSIX_FADV_DONTNEED);
  }

  ReadMode mode_;
  Advice advice_;
};

STOKER_REGISTER(Storage, "posix", PosixStorage);

}  // namespace
}  // namespace stoker

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/core/system/file.h"
#include "io/core/system/memory.h"

// The one way to the files of a tier for those who need more than whole objects: byte ranges,
// reserved space, atomic renames, syncs. Every system call passes a chain of layers first, so that
// an emulated tier can slow it down, and a test can record it or let it fail.

namespace stoker {

class FileDescriptor;
class Storage;

// MADV_POPULATE_READ, for madvise(2): Linux 5.14. The headers may be older than the kernel.
inline constexpr int kPopulateRead = 22;

// A file's bytes as read-only memory, until the object is destroyed. Any thread. Owns the mapping,
// not the descriptor, which may be closed.
//
// Reading a page that the device cannot deliver, or that a shortened file no longer has, ends the
// process (SIGBUS). So use it for files that nobody changes, and only after fetch().
class MappedFile {
 public:
  // The whole file, of `bytes` bytes; 0 bytes map nothing. `path` is for the message of the
  // IoError.
  MappedFile(const FileDescriptor& file, size_t bytes, const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  Bytes bytes() const { return bytes_; }
  // Brings a range into memory, in one request and without the risk of SIGBUS. False: it cannot be
  // read. Kernels before 5.14 answer true and do nothing.
  bool fetch(size_t offset, size_t bytes) const;

 private:
  Bytes bytes_;
};

// An object of a tier. Empty: this tier has no files, or wants to see every read of them (it is
// emulated, or goes past the page cache). IoError where the object cannot be opened or mapped.
std::optional<MappedFile> map_object(const Storage& tier, const std::string& key);

// One system call on a path relative to the root of its tree ("" is the root). A value; a layer may
// pass on a changed copy, for example of fewer bytes. `data` belongs to the caller and is valid
// during the call.
struct FileCall {
  enum class Op {
    open,  // an existing file for reading
    create,
    lock,
    read,
    map,  // reads that no layer sees any more
    write,
    reserve,  // fallocate
    truncate,
    sync,
    make_directory,
    rename,    // fails where `to` exists
    replace,   // rename over `to`
    exchange,  // `path` and `to`
    remove,
    remove_directory,
    list,
    stat,  // size() and exists()
    sync_directory
  };
  Op op;
  std::string path;
  std::string to = {};            // rename, replace, exchange
  uint64_t offset = 0;            // read, write
  uint64_t bytes = 0;             // read, write, reserve, truncate
  const uint8_t* data = nullptr;  // write
  int accepted = 0;               // an errno that answers the call here, and is not a failure
};

// The verb of a message: "read", "make directory". Static text; any thread.
const char* to_string(FileCall::Op op);

// What stands between a FileTree and the kernel: it may delay, count, change or refuse a call, or
// pass it on by `next`. Any thread, several calls at once. An exception passes to the caller of the
// tree.
class FileLayer {
 public:
  // Performs the call: bytes for read and write (which may be fewer than asked for), else 0; -errno
  // where it failed.
  using Next = std::function<int64_t(const FileCall&)>;
  virtual ~FileLayer() = default;
  // Does, or answers for, one call; the result is like that of Next. It may call `next` never, once
  // or several times. Answers of -EINTR are tried again by the tree, through all layers.
  virtual int64_t call(const FileCall& call, const Next& next) = 0;
};

class FileTree;
class Uring;

// A file of a tree; closed by the destructor. Refers to its tree, which must outlive it. Different
// ranges may be read and written by different threads at once. Everything throws IoError that names
// operation and path.
class TreeFile {
 public:
  // In bytes, as fstat(2) says now.
  uint64_t size() const;
  // All of `out`; a file that ends before is an IoError. `queue`: by several requests in flight,
  // which the layers see as one call.
  void read_at(uint64_t offset, std::span<uint8_t> out, Uring* queue = nullptr) const;
  // The whole file as memory, which may outlive this object. Empty: a layer refuses (EOPNOTSUPP).
  std::optional<MappedFile> map() const;
  // All of `bytes`, in pieces where the kernel takes fewer. With direct I/O offset, length and
  // address are multiples of kDirectAlignment. `queue`: by several requests in flight.
  void write_at(uint64_t offset, Bytes bytes, Uring* queue = nullptr) const;
  // Reserves space for the first `bytes` bytes, so that a full disk shows before any is written.
  // Does nothing on a file system that cannot reserve.
  void reserve(uint64_t bytes) const;
  // Cuts the file, or lengthens it by zeros.
  void truncate(uint64_t bytes) const;
  // fsync(2). After a failure nothing of the file can be relied on: write it anew under another
  // name.
  void sync() const;
  // Reads and writes go past the page cache. No longer so after the file system has refused one.
  bool direct() const;

 private:
  friend class FileTree;
  using Stream = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  TreeFile(const FileTree& tree, std::string path, FileDescriptor file, bool direct)
      : tree_(&tree), path_(std::move(path)), file_(std::move(file)), direct_(direct) {}
  TreeFile(const FileTree& tree, std::string path, Stream stream)
      : tree_(&tree), path_(std::move(path)), stream_(std::move(stream)) {}
  int descriptor() const { return stream_ ? ::fileno(stream_.get()) : file_.get(); }
  // What is in the stream's buffer; 0 or -errno, as the next.
  int64_t flush() const;
  int64_t write_stream(const FileCall& call) const;
  // The errno by which a file system refuses to read or write past the page cache; 0: none.
  int refusal() const { return direct() ? EINVAL : 0; }
  // From now on through the page cache.
  void give_up_direct() const;
  // After a piece of `count` bytes: how many of them need no second try.
  int64_t resumable(int64_t count) const;
  const FileTree* tree_;
  std::string path_;
  FileDescriptor file_;
  Stream stream_{nullptr, nullptr};  // in the place of file_
  bool direct_ = false;
};

// What offsets, lengths and addresses of direct I/O have to be multiples of, in bytes: that of the
// largest sector in use.
inline constexpr uint64_t kDirectAlignment = 4096;

// direct: O_DIRECT where the file system takes it, else through the page cache; some take it when a
// file is opened, and refuse it when that is read or written. stdio: through the
// page cache by fopen(3), fwrite(3) and fflush(3), for new files; several threads write one after
// the other.
enum class FileAccess { buffered, direct, stdio };

// The files below one directory. Paths are relative to the root, and text (io/core/text/text.h). A
// value with shared layers; any thread. Files refer to it and must not outlive it. Everything
// throws IoError that names operation and full path.
class FileTree {
 public:
  // `access` is what access() will say; nothing is opened or made.
  explicit FileTree(std::string root, FileAccess access = FileAccess::buffered)
      : root_(std::move(root)), access_(access) {}
  // The same files behind one more layer, which sees a call before the others do.
  FileTree behind(std::shared_ptr<FileLayer> layer) const;
  const std::string& root() const { return root_; }
  // What the kernel calls a path of the tree: bytes.
  std::string full(const std::string& path) const;
  // How the tier itself opens its files; whoever opens one by open() or create() is free to differ.
  FileAccess access() const { return access_; }

  // An existing file, for reading.
  TreeFile open(const std::string& path, FileAccess access) const;
  // A new, empty file.
  TreeFile create(const std::string& path, FileAccess access) const;
  // An exclusive lock (of the open file description) on `path`, made if need be, held until the
  // result is destroyed or the process ends. Empty: somebody else holds it.
  FileDescriptor lock(const std::string& path) const;

  // Whether there is an entry of any kind. IoError where that cannot be found out.
  bool exists(const std::string& path) const;
  // With everything above it; each new entry is durable where `sync`.
  void make_directories(const std::string& path, bool sync = true) const;
  // Fails with EEXIST where `to` exists.
  void rename(const std::string& from, const std::string& to) const;
  // Takes the place of `to` in one step, whether or not it exists.
  void replace(const std::string& from, const std::string& to) const;
  // Exchanges two names in one step. A file system that cannot (NFS) renames three times, by way of
  // the name `aside`, which is free: a process that is killed meanwhile leaves what was `to` there.
  void exchange(const std::string& from, const std::string& to, const std::string& aside) const;
  // A file. Absent is fine. Not durable until its directory is synced; likewise the next.
  void remove(const std::string& path) const;
  // A directory and the files in it, which must not be directories themselves. Absent is fine. A
  // file that cannot be removed keeps the directory, and none of the other files.
  void remove_directory(const std::string& path) const;
  // Sorted names of a directory's entries; empty where it is absent.
  std::vector<std::string> list(const std::string& path) const;
  // fsync(2) of a directory: the names that were made, renamed and removed in it are durable.
  void sync_directory(const std::string& path) const;

  // Small files, read and written as a whole. read_text refuses more than `limit` bytes.
  std::string read_text(const std::string& path, uint64_t limit) const;
  // A new file under `path`, synced where `sync`.
  void write_text(const std::string& path, const std::string& text, bool sync) const;

 private:
  friend class TreeFile;
  // Passes the call through the layers to `perform`, again after EINTR. A result below 0 is thrown
  // as an IoError, but for call.accepted, which is returned as -errno.
  int64_t run(const FileCall& call, const FileLayer::Next& perform) const;
  // Opens a file with `flags`; where O_DIRECT is wanted and refused, with `without_direct`.
  TreeFile open_by(FileCall::Op op, const std::string& path, FileAccess access, int flags,
                   int without_direct) const;

  std::string root_;
  FileAccess access_;
  std::vector<std::shared_ptr<FileLayer>> layers_;  // the outermost last
};

}  // namespace stoker

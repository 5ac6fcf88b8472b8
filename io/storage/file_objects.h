#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "io/core/system/file.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {

// A file that was opened for reading, and its size in bytes then. Owns the descriptor. Whoever
// makes one without FileObjects vouches for what it says.
struct ObjectFile {
  std::string path;
  FileDescriptor file;
  uint64_t size = 0;
  bool direct = false;  // reads go past the page cache
};

// Files that stay open, because they are read part by part: those that were asked for last. Any
// thread; who got one may use it as long as it likes.
class OpenFiles {
 public:
  // The file of that key, where it is kept and still what it was: neither replaced, removed, cut
  // nor grown since. Null: open it.
  std::shared_ptr<const ObjectFile> find(const std::string& key);
  // In the place of an older one, and of the one that was asked for longest ago.
  void keep(const std::string& key, std::shared_ptr<const ObjectFile> file);
  void clear();

 private:
  static constexpr size_t kMost = 64;
  using Entry = std::pair<std::string, std::shared_ptr<const ObjectFile>>;

  std::mutex mutex_;
  std::list<Entry> files_;  // the newest first
};

// Everything but read() for the tiers posix, direct and uring, whose objects are files below a
// directory. Any thread. Failures are IoError, as for every tier.
class FileObjects : public Storage, public KeepsFiles {
 public:
  std::vector<ObjectInfo> list(const std::string& prefix) const final;
  // Through an AtomicFile: temporary file, fsync, rename, fsync of the directory.
  std::unique_ptr<ObjectWriter> create(const std::string& key) override;
  // Also removes directories that become empty with it, as they are not objects.
  void remove(const std::string& key) override;
  // The same files, for those who need more than whole objects. Valid as long as the tier.
  const FileTree* files() const final { return &files_; }

 protected:
  // Reads `bytes` bytes at `offset` into `data`: how many there were before the file's end, or
  // -errno. With direct I/O all three are multiples of kDirectAlignment.
  using ReadFile = std::function<int64_t(const ObjectFile& file, uint8_t* data, uint64_t bytes,
                                         uint64_t offset)>;

  // access: how objects are read. direct: where O_DIRECT is refused, reads go through the page
  // cache. That is said once: here, by an attempt that leaves nothing behind, or, where that tells
  // nothing (the root is not there yet), by a condition of the meter at the first read.
  FileObjects(std::string root, FileAccess access, const Inputs& inputs);

  // The file of an object. IoError if it is not a regular file.
  ObjectFile open(const std::string& key) const;
  // Reads a range that begins at 0 through the page cache by one pread, where it may be taken for
  // the size of the object: the kernel is not asked for that, and nothing is allocated but `out`,
  // which gets room for all of the range. False: the file could not be read this way, and read_by()
  // will say why.
  bool read_at_once(const std::string& key, Buffer& out, Range range) const;
  // open(), then `range` by `read` into `out`, with direct I/O by the blocks around it. If a part
  // of a file other than its first is read, the file stays open for the next parts. IoError where
  // the file ends before its size says.
  void read_by(const ReadFile& read, const std::string& key, Buffer& out, Range range) const;
  // The file of a key. IoError for a key that check_key() refuses.
  std::string path_of(const std::string& key) const;

 private:
  void go_through_the_page_cache() const;
  // The file for reading that range.
  std::shared_ptr<const ObjectFile> open_for(const std::string& key, const Range& range) const;
  // False: O_DIRECT was refused after all.
  static bool try_read(const ReadFile& read, const ObjectFile& file, Buffer& out, Range range);

  std::string name_;
  std::string root_;
  FileTree files_;
  TierMeter* meter_;
  mutable std::atomic<bool> direct_;
  mutable OpenFiles open_files_;
};

// The plain way to read, a FileObjects::ReadFile. By pread(2), again after EINTR and after fewer
// bytes than asked for: how many there were before the file's end, or -errno.
int64_t pread_file(const ObjectFile& file, uint8_t* data, uint64_t bytes, uint64_t offset);

}  // namespace stoker

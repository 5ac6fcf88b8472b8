#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "io/core/system/memory.h"

// Files that are either whole and durable under their name, or not there. One thread at a time per
// object. Everything throws IoError that names the operation and the path.

namespace stoker {

// Owns a file descriptor and closes it. Different threads may use the descriptor at once, as far as
// the system calls allow it. Moves, no copies. Errors of close() are ignored: whoever needs to know
// syncs first. Default: none (-1).
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();
  int get() const { return fd_; }
  // Whoever calls it owns the descriptor from then on.
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// What a system call returns; it is made again where a signal interrupted it (EINTR).
template <class F>
auto uninterrupted(const F& call) {
  auto result = call();
  while (result == decltype(result)(-1) && errno == EINTR) result = call();
  return result;
}

// open(2) with O_CLOEXEC, tried again after EINTR. New files get mode 0666 less the umask.
// `operation` is the first word of the message ("read", "write").
FileDescriptor open_file(const std::string& operation, const std::string& path, int flags);

// Whether an errno says that a file system does not have what was asked of it, so that no other try
// will be better: a sync of a directory, a lock, direct I/O.
bool is_unsupported(int errno_value);

// Opens a regular file, or what a link to one leads to. Empty: no file has that name. Anything else
// that others may have put there, such as a FIFO, a device or a socket, is an IoError that says
// what it is: it is never waited for, and never read without end. Whatever lies in a folder that
// others may write in is opened by this function.
FileDescriptor open_regular(const std::string& operation, const std::string& path, int flags);

// What may be read: regular files alone, or streams as well. Only a path that the user named on the
// command line may be a stream, such as /dev/stdin or a process substitution of a shell.
enum class Readable { regular, streams };

// The bytes of a whole file, or the first `limit` of them. Empty: no file has that name. Any other
// failure is an IoError. Without a limit, so is a file of more than 1 GiB.
std::optional<std::string> read_if_there(const std::string& path, size_t limit = SIZE_MAX,
                                         Readable readable = Readable::regular);

// Writes all of `bytes` at the file's position, over short writes and EINTR; `path` is for the
// message. Not durable until a sync.
void write_all(const FileDescriptor& file, Bytes bytes, const std::string& path);

// mkdir(2): a directory that was not there.
void make_directory(const std::string& path);
// mkdir -p whose new entries are durable: each parent is synced, where its file system can do that
// for directories. A directory that another thread makes meanwhile is fine.
void make_directories(const std::string& path);
// A symbolic link to `target` under `path`, in the place of what link or file is there. Others see
// the old one or the new one, and never none.
void replace_link(const std::string& target, const std::string& path);

// Whether an AtomicFile of this path is written through: "-" (standard output), what lies in /proc
// (/dev/stdout leads there), or what is there and is neither a plain file nor a directory, such as
// /dev/null or a FIFO. Links are followed.
bool is_written_through(const std::string& path);
// Whether it is standard output: "-", or another name of the same file.
bool is_standard_output(const std::string& path);

// A file that appears under `path` by commit(), or never:
//   1. the constructor follows links, so that they stay, and opens ".tmp-<random>" in the nearest
//      directory that exists, so that nothing else is left behind when there is no commit;
//   2. append() writes; after a failed write the file is dead and only the destructor remains;
//   3. commit() makes the missing directories, then fsync(file), rename, fsync(directory). An older
//      file of that name is replaced in one step. When it returns, the file is durable, and its
//      name is as durable as the file system makes names: some sync no directories.
// A path that is_written_through() is never replaced: append() writes to it at once. The
// constructor waits for the reader of a FIFO, until the thread is interrupted
// (io/core/threads.h).
class AtomicFile {
 public:
  // What commit() does about directories above the file that are not there: makes them, or fails
  // with ENOENT.
  enum class Parents { made, needed };
  explicit AtomicFile(std::string path, Parents parents = Parents::made);
  // For a folder in which others may write: a link or whatever else has the name is replaced, and
  // never followed or written through.
  enum class Links { replaced };
  AtomicFile(std::string path, Links links);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void append(Bytes bytes);
  void commit();

 private:
  void open_temporary();

  std::string path_;
  Parents parents_;
  std::string temporary_;
  FileDescriptor file_;
};

// An AtomicFile in one call: when it returns, the file is durable and whole.
void atomic_write_file(const std::string& path, Bytes bytes,
                       AtomicFile::Parents parents = AtomicFile::Parents::made);

// Whether a file name (no directory) is that of an AtomicFile before its commit.
bool is_temporary(const std::string& name);

// A new, empty folder, which goes with all that is in it. Its name cannot be guessed and it belongs
// to this user alone, so that nothing that was there before is ever taken for it or removed with
// it. All temporary folders of this program are made here (tests/style_test.py). Any thread.
class TemporaryFolder {
 public:
  // In the folder for temporary files (TMPDIR). use: a word of its name. IoError.
  explicit TemporaryFolder(const std::string& use);
  // In `place`; `prefix` begins its name.
  TemporaryFolder(const std::string& place, const std::string& prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace stoker

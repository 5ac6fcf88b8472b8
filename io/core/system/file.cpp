#include "io/core/system/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/threads.h"

namespace stoker {
namespace {

constexpr const char* kTemporary = ".tmp-";
constexpr size_t kMostRead = size_t{1} << 30;

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

bool is_there(const std::string& path) {
  return uninterrupted([&] { return ::access(path.c_str(), F_OK); }) == 0;
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return uninterrupted([&] { return ::stat(path.c_str(), &status); }) == 0 &&
         S_ISDIR(status.st_mode);
}

void sync_file(const FileDescriptor& file, const std::string& path) {
  if (uninterrupted([&] { return ::fsync(file.get()); }) != 0) throw_errno("sync", path, errno);
}

void rename_file(const std::string& from, const std::string& to) {
  const auto call = [&] { return ::rename(from.c_str(), to.c_str()); };
  if (uninterrupted(call) != 0) throw_errno("write", to, errno);
}

// Some file systems sync no directories, and nothing better can be done there.
void sync_directory(const std::string& path) {
  const FileDescriptor directory = open_file("sync", path, O_RDONLY | O_DIRECTORY);
  const auto call = [&] { return ::fsync(directory.get()); };
  if (uninterrupted(call) != 0 && !is_unsupported(errno)) throw_errno("sync", path, errno);
}

// Empty: no file has that name.
FileDescriptor open_there(const std::string& operation, const std::string& path, int flags) {
  FileDescriptor file(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC); }));
  if (!file && errno != ENOENT) throw_errno(operation, path, errno);
  return file;
}

struct stat status_of(const FileDescriptor& file, const std::string& operation,
                      const std::string& path) {
  struct stat status {};
  if (uninterrupted([&] { return ::fstat(file.get(), &status); }) != 0) {
    throw_errno(operation, path, errno);
  }
  return status;
}

// The path behind all links, as far as it can be told; the last part need not be there. What lies
// in /proc stays as it is, because such a link is a descriptor and not a path.
std::string behind_links(std::string path) {
  if (path == "-") return fmt::format("/proc/{}/fd/{}", ::getpid(), STDOUT_FILENO);
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // as the kernel
  for (int links = 0; links <= kMostLinks; ++links) {
    std::error_code error;
    const std::string folder = fs::canonical(parent_of(path), error).string();
    if (folder.starts_with("/proc/")) return folder + "/" + fs::path(path).filename().string();
    const fs::path to = fs::read_symlink(path, error);
    if (error) return path;
    path = (parent_of(path) / to).string();
  }
  throw_errno("write", path, ELOOP);
}

// Of a path behind_links().
bool is_through(const std::string& path) {
  if (path.starts_with("/proc/")) return true;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// A descriptor of this process is duplicated, so that what it has written stays before what comes
// now. Without O_NONBLOCK a FIFO that nobody reads would be waited for without an end.
FileDescriptor open_through(const std::string& path) {
  const std::string own = fmt::format("/proc/{}/fd/", ::getpid());
  if (path.starts_with(own)) {
    std::fflush(stdout);
    FileDescriptor file(::fcntl(std::atoi(path.c_str() + own.size()), F_DUPFD_CLOEXEC, 0));
    if (!file) throw_errno("write", path, errno);
    return file;
  }
  for (;;) {
    FileDescriptor file(uninterrupted(
        [&] { return ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC); }));
    if (file) {
      ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
      return file;
    }
    const int error = errno;
    struct stat status {};
    const bool fifo = ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
    if (error != ENXIO || !fifo) throw_errno("write", path, error);
    sleep_interruptibly(std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
  }
}

// Another thread may remove a directory that is empty between two of our calls.
template <class F>
void despite_removals(F&& f) {
  for (int attempt = 1;; ++attempt) {
    try {
      return f();
    } catch (const IoError& error) {
      if (error.errno_value() != ENOENT || attempt == 100) throw;
    }
  }
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

FileDescriptor open_file(const std::string& operation, const std::string& path, int flags) {
  constexpr mode_t kMode = 0666;  // narrowed by the umask
  FileDescriptor file(
      uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kMode); }));
  if (!file) throw_errno(operation, path, errno);
  return file;
}

bool is_unsupported(int errno_value) {
  return errno_value == EINVAL || errno_value == ENOSYS || errno_value == EOPNOTSUPP;
}

FileDescriptor open_regular(const std::string& operation, const std::string& path, int flags) {
  FileDescriptor file = open_there(operation, path, flags | O_NONBLOCK);
  if (!file) return file;
  const struct stat what = status_of(file, operation, path);
  if (S_ISDIR(what.st_mode)) throw_errno(operation, path, EISDIR);
  if (!S_ISREG(what.st_mode)) {
    throw IoError(operation + " " + path + ": it is " +
                      (S_ISFIFO(what.st_mode) ? "a FIFO" : "a device") +
                      ", and a regular file is needed there",
                  0);
  }
  return file;
}

std::optional<std::string> read_if_there(const std::string& path, size_t limit, Readable readable) {
  const FileDescriptor file = readable == Readable::regular ? open_regular("read", path, O_RDONLY)
                                                            : open_there("read", path, O_RDONLY);
  if (!file) return std::nullopt;
  const size_t most = std::min(limit, kMostRead + 1);
  const off_t bytes = status_of(file, "read", path).st_size;
  if (most > kMostRead && bytes > static_cast<off_t>(kMostRead)) throw_errno("read", path, EFBIG);
  std::string text;
  constexpr size_t kLeast = 4096, kMost = 1 << 20;
  // One more than it has, so that one read takes all of it. Files of /proc say that they are empty.
  const size_t usual = std::clamp(static_cast<size_t>(bytes) + 1, kLeast, kMost);
  for (size_t size = 0;;) {
    const size_t piece = std::min(usual, most - size);
    text.resize(size + piece);
    const ssize_t count =
        uninterrupted([&] { return ::read(file.get(), text.data() + size, piece); });
    if (count < 0) throw_errno("read", path, errno);
    text.resize(size += static_cast<size_t>(count));
    if (size > kMostRead) throw_errno("read", path, EFBIG);
    if (count == 0) return text;
  }
}

void write_all(const FileDescriptor& file, Bytes bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count =
        uninterrupted([&] { return ::write(file.get(), bytes.data(), bytes.size()); });
    if (count < 0) throw_errno("write", path, errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void make_directory(const std::string& path) {
  if (uninterrupted([&] { return ::mkdir(path.c_str(), 0777); }) != 0) {
    throw_errno("make directory", path, errno);
  }
}

void make_directories(const std::string& path) {
  if (is_directory(path)) return;
  const std::string parent = parent_of(path);
  if (parent != path) make_directories(parent);
  try {
    make_directory(path);
  } catch (const IoError& error) {
    if (is_directory(path)) return;  // somebody else was quicker
    if (error.errno_value() != EEXIST) throw;
    // What was there may be gone again.
    throw_errno("make directory", path, is_there(path) ? ENOTDIR : ENOENT);
  }
  sync_directory(parent);
}

void replace_link(const std::string& target, const std::string& path) {
  const std::string fresh = unique_name(parent_of(path) + "/" + kTemporary);
  if (uninterrupted([&] { return ::symlink(target.c_str(), fresh.c_str()); }) != 0) {
    throw_errno("link", path, errno);
  }
  try {
    rename_file(fresh, path);
  } catch (const IoError&) {
    ::unlink(fresh.c_str());
    throw;
  }
}

bool is_written_through(const std::string& path) { return is_through(behind_links(path)); }

bool is_standard_output(const std::string& path) {
  if (path == "-") return true;
  struct stat named {
  }, standard{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &standard) == 0 &&
         named.st_dev == standard.st_dev && named.st_ino == standard.st_ino;
}

AtomicFile::AtomicFile(std::string path, Parents parents)
    : path_(behind_links(std::move(path))), parents_(parents) {
  if (is_through(path_)) {
    file_ = open_through(path_);
  } else {
    open_temporary();
  }
}

AtomicFile::AtomicFile(std::string path, Links) : path_(std::move(path)), parents_(Parents::made) {
  open_temporary();
}

void AtomicFile::open_temporary() {
  despite_removals([&] {
    std::string directory = parent_of(path_);
    if (parents_ == Parents::made) {
      while (!is_there(directory) && errno == ENOENT) directory = parent_of(directory);
    }
    temporary_ = unique_name(directory + "/" + kTemporary);
    try {
      file_ = open_file("write", temporary_, O_WRONLY | O_CREAT | O_EXCL);
    } catch (const IoError& error) {
      throw_errno("write", path_, error.errno_value());  // the name that the caller knows
    }
  });
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::append(Bytes bytes) { write_all(file_, bytes, path_); }

void AtomicFile::commit() {
  if (temporary_.empty()) return;  // it was written through
  sync_file(file_, path_);
  const std::string directory = parent_of(path_);
  despite_removals([&] {
    if (parents_ == Parents::made) make_directories(directory);
    rename_file(temporary_, path_);
  });
  temporary_.clear();
  sync_directory(directory);
}

void atomic_write_file(const std::string& path, Bytes bytes, AtomicFile::Parents parents) {
  AtomicFile file(path, parents);
  file.append(bytes);
  file.commit();
}

bool is_temporary(const std::string& name) { return name.starts_with(kTemporary); }

TemporaryFolder::TemporaryFolder(const std::string& use)
    : TemporaryFolder(std::filesystem::temp_directory_path().string(), "stoker-" + use + "-") {}

TemporaryFolder::TemporaryFolder(const std::string& place, const std::string& prefix)
    : path_((std::filesystem::path(place) / (prefix + std::string(6, 'X'))).string()) {
  if (::mkdtemp(path_.data()) == nullptr) throw_errno("make", path_, errno);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace stoker

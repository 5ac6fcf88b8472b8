#include "io/core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "io/core/digest.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr const char* kTemporary = ".tmp-";

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void sync_file(const FileDescriptor& file, const std::string& path) {
  if (::fsync(file.get()) != 0) throw_errno("sync", path, errno);
}

void sync_directory(const std::string& path) {
  sync_file(open_file("sync", path, O_RDONLY | O_DIRECTORY), path);
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
  for (;;) {
    FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, kMode));
    if (file) return file;
    if (errno != EINTR) throw_errno(operation, path, errno);
  }
}

std::optional<std::string> read_if_there(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) throw_errno("read", path, errno);
  std::string text;
  constexpr size_t kPiece = 1 << 20;
  for (size_t size = 0;;) {
    text.resize(size + kPiece);
    const ssize_t count = ::read(file.get(), text.data() + size, kPiece);
    if (count < 0 && errno != EINTR) throw_errno("read", path, errno);
    if (count > 0) size += static_cast<size_t>(count);
    text.resize(size);
    if (count == 0) return text;
  }
}

void write_all(const FileDescriptor& file, Bytes bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) throw_errno("write", path, errno);
    if (count > 0) bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void make_directories(const std::string& path) {
  if (is_directory(path)) return;
  const std::string parent = parent_of(path);
  if (parent != path) make_directories(parent);
  if (::mkdir(path.c_str(), 0777) != 0) {
    const int error = errno;
    if (is_directory(path)) return;  // somebody else was quicker
    // What was there may be gone again.
    const bool gone = error == EEXIST && ::access(path.c_str(), F_OK) != 0;
    throw_errno("make directory", path, gone ? ENOENT : error == EEXIST ? ENOTDIR : error);
  }
  sync_directory(parent);
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  despite_removals([&] {
    std::string directory = parent_of(path_);
    while (::access(directory.c_str(), F_OK) != 0 && errno == ENOENT) {
      directory = parent_of(directory);
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
  sync_file(file_, path_);
  const std::string directory = parent_of(path_);
  despite_removals([&] {
    make_directories(directory);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_errno("write", path_, errno);
  });
  temporary_.clear();
  sync_directory(directory);
}

void atomic_write_file(const std::string& path, Bytes bytes) {
  AtomicFile file(path);
  file.append(bytes);
  file.commit();
}

bool is_temporary(const std::string& name) { return name.starts_with(kTemporary); }

}  // namespace stoker

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/core/error.h"
#include "io/core/file.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {
namespace {

// Lists a directory tree. Symbolic links are followed; a directory that is its own ancestor is not
// entered again.
class Walk {
 public:
  Walk(const std::string& root, const std::string& prefix) : root_(root), prefix_(prefix) {}

  std::vector<ObjectInfo> run() {
    // Only the directory part of the prefix can be opened.
    const size_t slash = prefix_.rfind('/');
    const std::string start = slash == std::string::npos ? "" : prefix_.substr(0, slash + 1);
    if (!start.empty()) check_key(prefix_.substr(0, slash));
    enter(start, open_directory(start));
    std::sort(found_.begin(), found_.end(),
              [](const ObjectInfo& a, const ObjectInfo& b) { return a.key < b.key; });
    return std::move(found_);
  }

 private:
  using Directory = std::unique_ptr<DIR, decltype([](DIR* d) { ::closedir(d); })>;

  // Null where a prefix names no directory; a missing root is an error.
  Directory open_directory(const std::string& key) const {
    const std::string path = root_ + "/" + key;
    Directory directory(::opendir(path.c_str()));
    if (directory) return directory;
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    if (absent && !key.empty() && ::access(root_.c_str(), F_OK) == 0) return nullptr;
    throw_errno("list", key.empty() ? root_ : path, errno);
  }

  // `key` is empty or ends with '/'.
  void enter(const std::string& key, Directory directory) {
    if (!directory) return;
    struct stat here {};
    if (::fstat(::dirfd(directory.get()), &here) != 0)
      throw_errno("list", root_ + "/" + key, errno);
    const std::pair identity(here.st_dev, here.st_ino);
    if (std::find(above_.begin(), above_.end(), identity) != above_.end()) return;
    above_.push_back(identity);
    bool empty = true;
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != ".." && !is_temporary(name)) {
        empty = false;
        add(key + name, ::dirfd(directory.get()), entry->d_name);
      }
      errno = 0;
    }
    if (errno != 0) throw_errno("list", root_ + "/" + key, errno);
    if (empty && !key.empty()) keep(key, 0);
    above_.pop_back();
  }

  void add(const std::string& key, int directory, const char* name) {
    struct stat status {};
    if (::fstatat(directory, name, &status, 0) != 0) {
      // A dangling link is listed: reading it says what is wrong, skipping it would hide it.
      if (errno == ENOENT || errno == ELOOP) return keep(key, 0);
      throw_errno("list", root_ + "/" + key, errno);
    }
    if (S_ISREG(status.st_mode)) keep(key, static_cast<uint64_t>(status.st_size));
    const std::string below = key + "/";
    const bool wanted = below.starts_with(prefix_) || prefix_.starts_with(below);
    if (S_ISDIR(status.st_mode) && wanted) enter(below, open_directory(below));
  }

  void keep(const std::string& key, uint64_t bytes) {
    if (key.starts_with(prefix_)) found_.push_back({key, bytes});
  }

  const std::string& root_;
  const std::string& prefix_;
  std::vector<std::pair<dev_t, ino_t>> above_;
  std::vector<ObjectInfo> found_;
};

class PosixWriter final : public ObjectWriter {
 public:
  explicit PosixWriter(std::string path) : file_(std::move(path)) {}
  void append(Bytes bytes) override { file_.append(bytes); }
  void commit() override { file_.commit(); }

 private:
  AtomicFile file_;
};

// Objects are files below a directory, through the page cache.
class PosixStorage final : public Storage {
 public:
  struct Options {
    Path root;
    template <class V>
    void visit(V& v) {
      v.required("root", root, "directory that holds the objects");
    }
  };
  PosixStorage(Options options, const Inputs&)
      : root_(std::move(options.root.value)), files_(root_) {}

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return Walk(root_, prefix).run();
  }

  void read(const std::string& key, Buffer& out, Range range) const override {
    const std::string path = path_of(key);
    // O_NONBLOCK: opening a FIFO must not hang; regular files ignore it.
    const FileDescriptor file = open_file("read", path, O_RDONLY | O_NONBLOCK);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) throw_errno("read", path, errno);
    if (S_ISDIR(status.st_mode)) throw_errno("read", path, EISDIR);
    if (!S_ISREG(status.st_mode)) throw IoError("read " + path + ": not a regular file", 0);
    const auto size = static_cast<uint64_t>(status.st_size);
    const uint64_t begin = std::min(range.offset, size);
    fill(file, path, begin, out, std::min(range.length, size - begin));
  }

  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return std::make_unique<PosixWriter>(path_of(key));
  }

  void remove(const std::string& key) override {
    const std::string path = path_of(key);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
      throw_errno("remove", path, errno);
    }
    // Directories are no objects: an empty one goes with its last object.
    for (size_t slash = key.rfind('/'); slash != std::string::npos && slash > 0;
         slash = key.rfind('/', slash - 1)) {
      if (::rmdir((root_ + "/" + key.substr(0, slash)).c_str()) != 0) break;
    }
  }

  const FileTree* files() const override { return &files_; }

 private:
  std::string path_of(const std::string& key) const {
    check_key(key);
    return root_ + "/" + key;
  }

  static void fill(const FileDescriptor& file, const std::string& path, uint64_t begin, Buffer& out,
                   uint64_t size) {
    uint8_t* target = out.resize(size);
    for (uint64_t done = 0; done < size;) {
      const ssize_t count =
          ::pread(file.get(), target + done, size - done, static_cast<off_t>(begin + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw_errno("read", path, errno);
      if (count == 0) {
        throw IoError("read " + path + ": the file shrank while it was read (" +
                          std::to_string(done) + " of " + std::to_string(size) + " bytes)",
                      0);
      }
      done += static_cast<uint64_t>(count);
    }
  }

  std::string root_;
  FileTree files_;
};

STOKER_REGISTER(Storage, "posix", PosixStorage);

}  // namespace
}  // namespace stoker

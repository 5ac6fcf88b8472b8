#include "io/storage/file_objects.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <utility>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/metrics/tier_meter.h"
#include "io/storage/keys.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// What a message says of a directory that is not there: which ones there are where it should be.
std::string instead_of(const std::string& directory) {
  std::error_code error;
  fs::path missing = fs::absolute(directory, error).lexically_normal();
  if (!missing.has_filename()) missing = missing.parent_path();
  while (missing.has_relative_path() && !fs::exists(missing.parent_path(), error)) {
    missing = missing.parent_path();
  }
  std::vector<std::string> names;
  fs::directory_iterator entry(missing.parent_path(), error);
  for (const auto end = decltype(entry)(); !error && entry != end; entry.increment(error)) {
    const std::string name = to_text(entry->path().filename().native());
    std::error_code unknown;
    if (entry->is_directory(unknown) && !is_system_folder(name)) names.push_back(name);
  }
  if (error) return "";
  std::ranges::sort(names);
  return what_is_there(to_text(missing.filename().native()), std::move(names)) + " in " +
         to_text(missing.parent_path().native());
}

// Lists a directory tree. Symbolic links are followed; a directory that is its own ancestor is not
// entered again.
class Walk {
 public:
  Walk(const std::string& tier, const std::string& root, const std::string& prefix)
      : tier_(tier), root_(root), prefix_(prefix) {}

  std::vector<ObjectInfo> run() {
    // Only the directory part of the prefix can be opened.
    const size_t slash = prefix_.rfind('/');
    const std::string start = slash == std::string::npos ? "" : prefix_.substr(0, slash + 1);
    if (!start.empty()) check_key(prefix_.substr(0, slash));
    enter(start, open_directory(start));
    std::ranges::sort(found_, {}, &ObjectInfo::key);
    return std::move(found_);
  }

 private:
  using Directory = std::unique_ptr<DIR, decltype([](DIR* d) { ::closedir(d); })>;

  // Null where a prefix names no directory; a missing root is an error.
  Directory open_directory(const std::string& key) const {
    const std::string path = root_ + "/" + from_text(key);
    Directory directory(::opendir(path.c_str()));
    while (!directory && errno == EINTR) directory.reset(::opendir(path.c_str()));
    if (directory) return directory;
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    if (absent && !key.empty() && ::access(root_.c_str(), F_OK) == 0) return nullptr;
    if (errno != ENOENT) throw_errno("list", key.empty() ? root_ : path, errno);
    const std::string option = tier_.empty() ? "" : ": mend `root` of storage '" + tier_ + "'";
    throw IoError("list " + root_ + ": No such file or directory" + instead_of(root_) + option,
                  ENOENT);
  }

  // Null: the end, or errno is not 0.
  static const dirent* next_entry(DIR* directory) {
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(directory);
      if (entry != nullptr || errno != EINTR) return entry;
    }
  }

  // `key` is empty or ends with '/'.
  void enter(const std::string& key, Directory directory) {
    if (!directory) return;
    struct stat here {};
    if (uninterrupted([&] { return ::fstat(::dirfd(directory.get()), &here); }) != 0)
      throw_errno("list", root_ + "/" + key, errno);
    const std::pair identity(here.st_dev, here.st_ino);
    if (std::find(above_.begin(), above_.end(), identity) != above_.end()) return;
    above_.push_back(identity);
    bool empty = true;
    while (const dirent* entry = next_entry(directory.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != ".." && !is_temporary(name)) {
        empty = false;
        add(key + to_text(name), ::dirfd(directory.get()), entry->d_name);
      }
    }
    if (errno != 0) throw_errno("list", root_ + "/" + key, errno);
    if (empty && !key.empty()) keep(key, 0);
    above_.pop_back();
  }

  void add(const std::string& key, int directory, const char* name) {
    struct stat status {};
    if (uninterrupted([&] { return ::fstatat(directory, name, &status, 0); }) != 0) {
      // A dangling link is listed: reading it says what is wrong, skipping it would hide it.
      if (errno == ENOENT || errno == ELOOP) return keep(key, 0);
      throw_errno("list", root_ + "/" + key, errno);
    }
    if (S_ISREG(status.st_mode)) keep(key, static_cast<uint64_t>(status.st_size));
    const std::string below = key + "/";
    const bool wanted = below.starts_with(prefix_) || prefix_.starts_with(below);
    if (S_ISDIR(status.st_mode) && wanted) descend(below, name);
  }

  // A disk's "lost+found" is not ours to read, and nobody's data: it is listed as if it were empty.
  void descend(const std::string& key, const char* name) {
    const size_t depth = above_.size();
    try {
      enter(key, open_directory(key));
    } catch (const IoError&) {
      if (!is_system_folder(name)) throw;
      above_.resize(depth);
      keep(key, 0);
    }
  }

  void keep(const std::string& key, uint64_t bytes) {
    if (key.starts_with(prefix_)) found_.push_back({key, bytes});
  }

  const std::string& tier_;
  const std::string& root_;
  const std::string& prefix_;
  std::vector<std::pair<dev_t, ino_t>> above_;
  std::vector<ObjectInfo> found_;
};

class FileWriter final : public ObjectWriter {
 public:
  explicit FileWriter(std::string path) : file_(std::move(path), AtomicFile::Links::replaced) {}
  void append(Bytes bytes) override { file_.append(bytes); }
  void commit() override { file_.commit(); }

 private:
  AtomicFile file_;
};

constexpr const char* kRefused = "O_DIRECT is refused here: reads go through the page cache";

// Whether files of this directory can be opened with O_DIRECT, by a file without a name. Also true
// where that cannot be found out (no such directory yet, or not writable): reading will tell.
bool takes_direct(const std::string& directory) {
  const FileDescriptor file(
      ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600));
  return file || errno != EINVAL;
}

}  // namespace

int64_t pread_file(const ObjectFile& file, uint8_t* data, uint64_t bytes, uint64_t offset) {
  const uint64_t unit = file.direct ? kDirectAlignment : 1;
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t count = uninterrupted([&] {
      return ::pread(file.file.get(), data + done, bytes - done, static_cast<off_t>(offset + done));
    });
    if (count < 0) return -errno;
    const uint64_t whole = static_cast<uint64_t>(count) / unit * unit;
    if (whole == 0) return static_cast<int64_t>(done) + count;
    done += whole;
  }
  return static_cast<int64_t>(done);
}

FileObjects::FileObjects(std::string root, FileAccess access, const Inputs& inputs)
    : name_(inputs.name),
      root_(std::move(root)),
      files_(root_, access),
      meter_(inputs.meter),
      direct_(access == FileAccess::direct && takes_direct(root_)) {
  if (access == FileAccess::direct && !direct_) inputs.remark(kRefused);
}

void FileObjects::go_through_the_page_cache() const {
  direct_ = false;
  if (meter_ != nullptr) meter_->add_condition(kRefused);
}

std::string FileObjects::path_of(const std::string& key) const {
  check_key(key);
  return files_.full(key);
}

std::vector<ObjectInfo> FileObjects::list(const std::string& prefix) const {
  return Walk(name_, root_, prefix).run();
}

std::unique_ptr<ObjectWriter> FileObjects::create(const std::string& key) {
  return std::make_unique<FileWriter>(path_of(key));
}

void FileObjects::remove(const std::string& key) {
  const std::string path = path_of(key);
  if (uninterrupted([&] { return ::unlink(path.c_str()); }) != 0 && errno != ENOENT &&
      errno != ENOTDIR) {
    throw_errno("remove", path, errno);
  }
  // Directories are not objects, so an empty one goes with its last object.
  for (size_t slash = key.rfind('/'); slash != std::string::npos && slash > 0;
       slash = key.rfind('/', slash - 1)) {
    if (::rmdir(files_.full(key.substr(0, slash)).c_str()) != 0) break;
  }
}

ObjectFile FileObjects::open(const std::string& key) const {
  ObjectFile object{path_of(key), {}, 0, direct_};
  // O_NONBLOCK: opening a FIFO must not hang; regular files ignore it.
  const int flags = O_RDONLY | O_NONBLOCK;
  try {
    object.file = open_file("read", object.path, flags | (object.direct ? O_DIRECT : 0));
  } catch (const IoError& error) {
    if (!object.direct || error.errno_value() != EINVAL) throw;
    go_through_the_page_cache();
    return open(key);
  }
  struct stat status {};
  if (uninterrupted([&] { return ::fstat(object.file.get(), &status); }) != 0) {
    throw_errno("read", object.path, errno);
  }
  if (S_ISDIR(status.st_mode)) throw_errno("read", object.path, EISDIR);
  if (!S_ISREG(status.st_mode)) throw IoError("read " + object.path + ": not a regular file", 0);
  object.size = static_cast<uint64_t>(status.st_size);
  return object;
}

std::shared_ptr<const ObjectFile> FileObjects::open_for(const std::string& key,
                                                        const Range& range) const {
  if (range.offset == 0) return std::make_shared<const ObjectFile>(open(key));
  check_key(key);
  std::shared_ptr<const ObjectFile> file = open_files_.find(key);
  if (file && file->direct == direct_) return file;
  try {
    file = std::make_shared<const ObjectFile>(open(key));
  } catch (const IoError& error) {
    if (error.errno_value() != EMFILE) throw;
    open_files_.clear();  // descriptors are short
    return std::make_shared<const ObjectFile>(open(key));
  }
  open_files_.keep(key, file);
  return file;
}

void FileObjects::read_by(const ReadFile& read, const std::string& key, Buffer& out,
                          Range range) const {
  if (try_read(read, *open_for(key, range), out, range)) return;
  go_through_the_page_cache();
  try_read(read, *open_for(key, range), out, range);
}

bool FileObjects::read_at_once(const std::string& key, Buffer& out, Range range) const {
  check_key(key);
  std::array<char, PATH_MAX> path;
  if (root_.size() + key.size() + 2 > path.size()) return false;
  if (range.offset != 0 || range.length == 0) return false;
  if (key.find('\\') != key.npos) return false;
  char* end = std::copy(root_.begin(), root_.end(), path.data());
  *end++ = '/';
  *std::copy(key.begin(), key.end(), end) = '\0';
  const FileDescriptor file(::open(path.data(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) return false;
  uint8_t* const data = out.resize(range.length);
  const ssize_t count = ::pread(file.get(), data, range.length, 0);
  // Nothing may also mean a FIFO.
  if (count <= 0) return false;
  // A regular file gives fewer bytes than it is asked for at its end only.
  out.shrink(static_cast<size_t>(count));
  return true;
}

bool FileObjects::try_read(const ReadFile& read, const ObjectFile& file, Buffer& out, Range range) {
  const uint64_t begin = std::min(range.offset, file.size);
  const uint64_t size = std::min(range.length, file.size - begin);
  uint8_t* data = nullptr;
  uint64_t skipped = 0;
  int64_t count = 0;
  if (!file.direct || size == 0) {
    data = out.resize(size);
    if (size > 0) count = read(file, data, size, begin);
  } else {
    // The blocks around the range, to the first aligned place of a buffer that is larger by one.
    skipped = begin % kDirectAlignment;
    const uint64_t asked = rounded_up(skipped + size, kDirectAlignment);
    data = out.resize(asked + kDirectAlignment);
    const auto address = reinterpret_cast<uintptr_t>(data);
    uint8_t* const place = data + (rounded_up(address, kDirectAlignment) - address);
    count = read(file, place, asked, begin - skipped);
    if (count == -EINVAL) return false;
    if (count > 0) std::memmove(data, place + skipped, size);
    out.shrink(size);
  }
  if (count < 0) throw_errno("read", file.path, static_cast<int>(-count));
  const uint64_t done =
      static_cast<uint64_t>(count) - std::min(static_cast<uint64_t>(count), skipped);
  if (done < size) {
    throw IoError(fmt::format("read {}: the file shrank while it was read ({} of {} bytes)",
                              file.path, done, size),
                  0);
  }
  return true;
}

namespace {

bool is_unchanged(const ObjectFile& file) {
  struct stat now {};
  return uninterrupted([&] { return ::fstat(file.file.get(), &now); }) == 0 && now.st_nlink > 0 &&
         static_cast<uint64_t>(now.st_size) == file.size;
}

}  // namespace

std::shared_ptr<const ObjectFile> OpenFiles::find(const std::string& key) {
  std::shared_ptr<const ObjectFile> file;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(files_, key, &Entry::first);
    if (found == files_.end()) return nullptr;
    files_.splice(files_.begin(), files_, found);
    file = found->second;
  }
  return is_unchanged(*file) ? file : nullptr;
}

void OpenFiles::keep(const std::string& key, std::shared_ptr<const ObjectFile> file) {
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [&](const Entry& entry) { return entry.first == key; });
  files_.emplace_front(key, std::move(file));
  if (files_.size() > kMost) files_.pop_back();
}

void OpenFiles::clear() {
  const std::lock_guard lock(mutex_);
  files_.clear();
}

}  // namespace stoker

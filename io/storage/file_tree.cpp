#include "io/storage/file_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/neighbours.h"
#include "io/core/text/text.h"
#include "io/storage/storage.h"
#include "io/storage/uring_queue.h"

namespace stoker {
namespace {

using Op = FileCall::Op;

// In the order of Op.
constexpr const char* kVerbs[] = {"open",
                                  "create",
                                  "lock",
                                  "read",
                                  "map",
                                  "write",
                                  "reserve space for",
                                  "truncate",
                                  "sync",
                                  "make directory",
                                  "rename",
                                  "rename",
                                  "exchange",
                                  "remove",
                                  "remove directory",
                                  "list",
                                  "look at",
                                  "sync directory"};
static_assert(std::size(kVerbs) == static_cast<size_t>(Op::sync_directory) + 1);

int64_t result_of(int64_t value) { return value < 0 ? -errno : value; }

// The layers from `depth` inwards, then the kernel.
int64_t descend(const std::vector<std::shared_ptr<FileLayer>>& layers, size_t depth,
                const FileCall& call, const FileLayer::Next& perform) {
  if (depth == 0) return perform(call);
  return layers[depth - 1]->call(
      call, [&](const FileCall& inner) { return descend(layers, depth - 1, inner, perform); });
}

// 0: `path` is a directory.
int64_t find_directory(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return -errno;
  return S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
}

std::string parent_of(const std::string& path) { return std::filesystem::path(path).parent_path(); }

}  // namespace

const char* to_string(Op op) { return kVerbs[static_cast<size_t>(op)]; }

uint64_t TreeFile::size() const {
  struct stat status {};
  tree_->run({.op = Op::stat, .path = path_}, [&](const FileCall&) {
    const int64_t flushed = flush();
    return flushed < 0 ? flushed : result_of(::fstat(descriptor(), &status));
  });
  return static_cast<uint64_t>(status.st_size);
}

bool TreeFile::direct() const {
  return stream_ == nullptr && direct_ && (::fcntl(file_.get(), F_GETFL) & O_DIRECT) != 0;
}

// Several threads may come to it at once.
void TreeFile::give_up_direct() const {
  const int flags = ::fcntl(file_.get(), F_GETFL);
  if (flags < 0 || ::fcntl(file_.get(), F_SETFL, flags & ~O_DIRECT) != 0) {
    throw_errno("open", tree_->full(path_), errno);
  }
}

int64_t TreeFile::flush() const {
  return stream_ == nullptr ? 0 : result_of(std::fflush(stream_.get()));
}

int64_t TreeFile::write_stream(const FileCall& call) const {
  std::FILE* const stream = stream_.get();
  ::flockfile(stream);
  const auto offset = static_cast<off_t>(call.offset);
  int64_t result = ::ftello(stream) == offset ? 0 : result_of(::fseeko(stream, offset, SEEK_SET));
  if (result == 0) {
    const size_t count = std::fwrite(call.data, 1, call.bytes, stream);
    result = count == 0 ? -int64_t{errno} : static_cast<int64_t>(count);
  }
  ::funlockfile(stream);
  return result;
}

int64_t TreeFile::resumable(int64_t count) const {
  return direct_ ? count - count % static_cast<int64_t>(kDirectAlignment) : count;
}

void TreeFile::read_at(uint64_t offset, std::span<uint8_t> out, Uring* queue) const {
  while (!out.empty()) {
    const uint64_t end = offset + out.size();
    int64_t count = tree_->run({.op = Op::read,
                                .path = path_,
                                .offset = offset,
                                .bytes = out.size(),
                                .accepted = refusal()},
                               [&](const FileCall& call) {
                                 if (queue != nullptr && !queue->broken()) {
                                   const int64_t got =
                                       queue->read(file_.get(), out.data(), call.bytes, call.offset,
                                                   direct_ ? kDirectAlignment : 1);
                                   if (!queue->broken()) return got;
                                 }
                                 return result_of(::pread(file_.get(), out.data(), call.bytes,
                                                          static_cast<off_t>(call.offset)));
                               });
    if (count < 0) {
      give_up_direct();
      continue;
    }
    const uint64_t reached = offset + static_cast<uint64_t>(count);
    if (reached < end) count = resumable(count);
    if (count == 0) {
      throw IoError(fmt::format("read {}: the file ends at byte {}, {} bytes are missing",
                                tree_->full(path_), reached, end - reached),
                    0);
    }
    offset += static_cast<uint64_t>(count);
    out = out.subspan(static_cast<size_t>(count));
  }
}

std::optional<MappedFile> TreeFile::map() const {
  std::optional<MappedFile> mapped;
  const uint64_t bytes = size();
  tree_->run({.op = Op::map, .path = path_, .bytes = bytes, .accepted = EOPNOTSUPP},
             [&](const FileCall& call) {
               try {
                 mapped.emplace(file_, call.bytes, path_);
                 return int64_t{0};
               } catch (const IoError& error) {
                 return -int64_t{error.errno_value()};
               }
             });
  return mapped;
}

void TreeFile::write_at(uint64_t offset, Bytes bytes, Uring* queue) const {
  while (!bytes.empty()) {
    int64_t count = tree_->run({.op = Op::write,
                                .path = path_,
                                .offset = offset,
                                .bytes = bytes.size(),
                                .data = bytes.data(),
                                .accepted = refusal()},
                               [&](const FileCall& call) {
                                 if (stream_) return write_stream(call);
                                 if (queue != nullptr) {
                                   return queue->write(file_.get(), call.data, call.bytes,
                                                       call.offset, direct_ ? kDirectAlignment : 1);
                                 }
                                 return result_of(::pwrite(file_.get(), call.data, call.bytes,
                                                           static_cast<off_t>(call.offset)));
                               });
    if (count < 0) {
      give_up_direct();
      continue;
    }
    if (static_cast<uint64_t>(count) < bytes.size()) count = resumable(count);
    if (count == 0) throw_errno("write", tree_->full(path_), EIO);
    offset += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void TreeFile::reserve(uint64_t bytes) const {
  if (bytes == 0) return;
  tree_->run({.op = Op::reserve, .path = path_, .bytes = bytes, .accepted = EOPNOTSUPP},
             [&](const FileCall& call) {
               const int64_t result =
                   result_of(::fallocate(descriptor(), 0, 0, static_cast<off_t>(call.bytes)));
               return result == -ENOSYS ? -EOPNOTSUPP : result;
             });
}

void TreeFile::truncate(uint64_t bytes) const {
  tree_->run({.op = Op::truncate, .path = path_, .bytes = bytes}, [&](const FileCall& call) {
    const int64_t flushed = flush();
    if (flushed < 0) return flushed;
    return result_of(::ftruncate(descriptor(), static_cast<off_t>(call.bytes)));
  });
}

void TreeFile::sync() const {
  tree_->run({.op = Op::sync, .path = path_}, [&](const FileCall&) {
    const int64_t flushed = flush();
    return flushed < 0 ? flushed : result_of(::fsync(descriptor()));
  });
}

FileTree FileTree::behind(std::shared_ptr<FileLayer> layer) const {
  FileTree tree = *this;
  tree.layers_.push_back(std::move(layer));
  return tree;
}

std::string FileTree::full(const std::string& path) const {
  if (path.empty()) return root_;
  std::string full;
  full.reserve(root_.size() + 1 + path.size());
  full.append(root_).append(1, '/');
  return full.append(path.find('\\') == path.npos ? path : from_text(path));
}

int64_t FileTree::run(const FileCall& call, const FileLayer::Next& perform) const {
  for (;;) {
    const int64_t result = descend(layers_, layers_.size(), call, perform);
    if (result >= 0 || result == -call.accepted) return result;
    if (result == -EINTR) continue;
    const std::string target = call.to.empty() ? "" : " to " + full(call.to);
    throw_errno(to_string(call.op), full(call.path) + target, static_cast<int>(-result));
  }
}

TreeFile FileTree::open_by(Op op, const std::string& path, FileAccess access, int flags,
                           int without_direct) const {
  bool direct = access == FileAccess::direct;
  FileDescriptor file;
  run({.op = op, .path = path}, [&](const FileCall&) {
    const std::string name = full(path);
    const int wanted = flags | O_CLOEXEC | (direct ? O_DIRECT : 0);
    file = FileDescriptor(::open(name.c_str(), wanted, 0666));
    if (!file && direct && errno == EINVAL) {
      direct = false;
      file = FileDescriptor(::open(name.c_str(), without_direct | O_CLOEXEC, 0666));
    }
    return result_of(file.get());
  });
  return TreeFile(*this, path, std::move(file), direct);
}

TreeFile FileTree::open(const std::string& path, FileAccess access) const {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK;  // a FIFO must not hang; regular files ignore it
  return open_by(Op::open, path, access, kFlags, kFlags);
}

TreeFile FileTree::create(const std::string& path, FileAccess access) const {
  if (access == FileAccess::stdio) {
    TreeFile::Stream stream(nullptr, std::fclose);
    run({.op = Op::create, .path = path}, [&](const FileCall&) {
      stream.reset(std::fopen(full(path).c_str(), "wbxe"));
      return stream ? 0 : -int64_t{errno};
    });
    return TreeFile(*this, path, std::move(stream));
  }
  constexpr int kFlags = O_WRONLY | O_CREAT;
  // Linux makes the file before it refuses O_DIRECT, so it is there the second time.
  return open_by(Op::create, path, access, kFlags | O_EXCL, kFlags | O_TRUNC);
}

FileDescriptor FileTree::lock(const std::string& path) const {
  FileDescriptor file;
  const auto perform = [&](const FileCall&) {
    file =
        FileDescriptor(::open(full(path).c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!file) return int64_t{-errno};
    return int64_t{-lock_file(file, FileLock::exclusive)};
  };
  const FileCall call{.op = Op::lock, .path = path, .accepted = EAGAIN};
  return run(call, perform) == -EAGAIN ? FileDescriptor() : std::move(file);
}

bool FileTree::exists(const std::string& path) const {
  const auto perform = [&](const FileCall&) {
    const int64_t result = result_of(::access(full(path).c_str(), F_OK));
    return result == -ENOTDIR || result == -ELOOP ? -ENOENT : result;
  };
  return run({.op = Op::stat, .path = path, .accepted = ENOENT}, perform) == 0;
}

void FileTree::make_directories(const std::string& path, bool sync) const {
  const auto find = [&](const FileCall&) { return find_directory(full(path)); };
  if (run({.op = Op::stat, .path = path, .accepted = ENOENT}, find) == 0) return;
  if (path.empty()) {
    // The root itself may lie several new directories deep.
    run({.op = Op::make_directory, .path = path}, [&](const FileCall&) {
      try {
        stoker::make_directories(root_);
        return int64_t{0};
      } catch (const IoError& error) {
        return -int64_t{error.errno_value()};
      }
    });
    return;
  }
  make_directories(parent_of(path), sync);
  const auto perform = [&](const FileCall&) {
    const int64_t result = result_of(::mkdir(full(path).c_str(), 0777));
    return result == -EEXIST ? find_directory(full(path)) : result;  // somebody was quicker
  };
  run({.op = Op::make_directory, .path = path}, perform);
  if (sync) sync_directory(parent_of(path));
}

void FileTree::rename(const std::string& from, const std::string& to) const {
  run({.op = Op::rename, .path = from, .to = to}, [&](const FileCall&) {
    const std::string a = full(from), b = full(to);
    const int result = ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_NOREPLACE);
    if (result == 0 || !is_unsupported(errno)) return result_of(result);
    // A file system without RENAME_NOREPLACE. Whoever holds the lock is alone here.
    if (::access(b.c_str(), F_OK) == 0) return int64_t{-EEXIST};
    return result_of(::rename(a.c_str(), b.c_str()));
  });
}

void FileTree::replace(const std::string& from, const std::string& to) const {
  run({.op = Op::replace, .path = from, .to = to},
      [&](const FileCall&) { return result_of(::rename(full(from).c_str(), full(to).c_str())); });
}

void FileTree::exchange(const std::string& from, const std::string& to,
                        const std::string& aside) const {
  const int64_t done =
      run({.op = Op::exchange, .path = from, .to = to, .accepted = EINVAL}, [&](const FileCall&) {
        const int result =
            ::renameat2(AT_FDCWD, full(from).c_str(), AT_FDCWD, full(to).c_str(), RENAME_EXCHANGE);
        if (result < 0 && is_unsupported(errno)) return int64_t{-EINVAL};
        return result_of(result);
      });
  if (done >= 0) return;
  rename(to, aside);
  try {
    rename(from, to);
  } catch (const IoError&) {
    rename(aside, to);
    throw;
  }
  rename(aside, from);
}

void FileTree::remove(const std::string& path) const {
  run({.op = Op::remove, .path = path, .accepted = ENOENT},
      [&](const FileCall&) { return result_of(::unlink(full(path).c_str())); });
}

void FileTree::remove_directory(const std::string& path) const {
  const std::string below = path + "/";
  std::optional<IoError> stays;  // the first of those
  for (const std::string& name : list(path)) {
    try {
      remove(below + name);
    } catch (const IoError& error) {
      if (!stays) stays.emplace(error);
    }
  }
  if (stays) throw IoError(*stays);
  run({.op = Op::remove_directory, .path = path, .accepted = ENOENT},
      [&](const FileCall&) { return result_of(::rmdir(full(path).c_str())); });
}

std::vector<std::string> FileTree::list(const std::string& path) const {
  std::vector<std::string> names;
  run({.op = Op::list, .path = path, .accepted = ENOENT}, [&](const FileCall&) {
    names.clear();
    std::error_code error;
    std::filesystem::directory_iterator entry(full(path), error);
    for (const auto end = decltype(entry)(); !error && entry != end; entry.increment(error)) {
      names.push_back(to_text(entry->path().filename().native()));
    }
    return -int64_t{error.value()};
  });
  std::sort(names.begin(), names.end());
  return names;
}

void FileTree::sync_directory(const std::string& path) const {
  run({.op = Op::sync_directory, .path = path}, [&](const FileCall&) {
    const FileDescriptor file(::open(full(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return file ? result_of(::fsync(file.get())) : int64_t{-errno};
  });
}

std::string FileTree::read_text(const std::string& path, uint64_t limit) const {
  const TreeFile file = open(path, FileAccess::buffered);
  const uint64_t size = file.size();
  if (size > limit) {
    throw IoError(
        fmt::format("read {}: {} bytes; at most {} are expected here", full(path), size, limit), 0);
  }
  std::string text(size, '\0');
  file.read_at(0, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
  return text;
}

void FileTree::write_text(const std::string& path, const std::string& text, bool sync) const {
  const TreeFile file = create(path, FileAccess::buffered);
  file.write_at(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  if (sync) file.sync();
}

MappedFile::MappedFile(const FileDescriptor& file, size_t bytes, const std::string& path) {
  if (bytes == 0) return;
  void* const address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) throw_errno("map", path, errno);
  ::madvise(address, bytes, MADV_HUGEPAGE);  // tmpfs has them; elsewhere it changes nothing
  bytes_ = {static_cast<const uint8_t*>(address), bytes};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

bool MappedFile::fetch(size_t offset, size_t bytes) const {
  auto* const begin = const_cast<uint8_t*>(bytes_.data() + offset);
  const size_t into =
      reinterpret_cast<uintptr_t>(begin) % static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const int result = ::madvise(begin - into, into + bytes, kPopulateRead);
  return result == 0 || (errno != EFAULT && errno != EHWPOISON && errno != EIO);
}

std::optional<MappedFile> map_object(const Storage& tier, const std::string& key) {
  check_key(key);
  const FileTree* files = files_of(tier);
  if (files == nullptr || files->access() == FileAccess::direct) return std::nullopt;
  return files->open(key, FileAccess::buffered).map();
}

}  // namespace stoker

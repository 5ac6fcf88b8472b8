#include "io/core/system/neighbours.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>
#include <utility>

#include "io/core/error.h"

namespace stoker {
namespace {

// Process numbers mean the same wherever this is the same.
std::string world_of_processes() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code error;
  return boot + "/" + std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

}  // namespace

std::string place_of(pid_t process) { return fmt::format("{}/{}", world_of_processes(), process); }

Neighbour::Neighbour(const std::string& place) {
  const size_t end = place.rfind('/');
  pid_t process = 0;
  if (end == std::string::npos || place.substr(0, end) != world_of_processes()) return;
  std::from_chars(place.data() + end + 1, place.data() + place.size(), process);
  if (process <= 0) return;
  process_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  ended_ = process_.get() < 0 && errno == ESRCH;
}

bool Neighbour::ended() const {
  if (process_.get() < 0) return ended_;
  pollfd watched{process_.get(), POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

namespace {

// In front of the memory: a random word, by which a file of the same number is known to be another.
constexpr size_t kFront = 4096;
constexpr const char* kWhat = "memory that ranks share";

size_t with_front(size_t bytes) {
  if (bytes > SIZE_MAX / 2 - kFront) throw std::bad_alloc();
  return bytes + kFront;
}

}  // namespace

SharedMemory::SharedMemory(size_t bytes, bool alone) : SharedMemory() {
  if (alone) {
    map(-1, bytes);
    return;
  }
  file_ = FileDescriptor(::memfd_create("stoker", MFD_CLOEXEC));
  if (!file_) throw_errno("make", kWhat, errno);
  const auto all = static_cast<off_t>(with_front(bytes));
  if (::ftruncate(file_.get(), all) != 0) throw_errno("make", kWhat, errno);
  map(file_.get(), bytes);
  const auto got =
      uninterrupted([this] { return ::getrandom(mapped_.data(), sizeof(uint64_t), 0); });
  if (got != sizeof(uint64_t)) throw_errno("make", kWhat, errno);
}

SharedMemory::SharedMemory(const std::string& name, size_t bytes) : SharedMemory() {
  const size_t end = name.rfind(' ');
  uint64_t word = 0;
  const std::string path = name.substr(0, end);
  const std::string_view digits =
      std::string_view(name).substr(end == std::string::npos ? name.size() : end + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), word, 16);
  const FileDescriptor file = open_file("share", path, O_RDWR);
  struct stat found;
  if (::fstat(file.get(), &found) != 0) throw_errno("share", path, errno);
  if (found.st_size < 0 || static_cast<uint64_t>(found.st_size) != with_front(bytes)) {
    throw IoError("share " + path + ": it is not the memory that was named", 0);
  }
  map(file.get(), bytes);
  uint64_t there = 0;
  std::memcpy(&there, mapped_.data(), sizeof there);
  if (there == word) return;
  throw IoError("share " + path + ": it is not the memory that was named", 0);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)),
      mapped_(std::exchange(other.mapped_, {})),
      bytes_(std::exchange(other.bytes_, {})) {}

SharedMemory::~SharedMemory() {
  if (!mapped_.empty()) ::munmap(mapped_.data(), mapped_.size());
}

std::string SharedMemory::name() const {
  if (!file_) return {};
  uint64_t word = 0;
  std::memcpy(&word, mapped_.data(), sizeof word);
  return fmt::format("/proc/{}/fd/{} {:x}", ::getpid(), file_.get(), word);
}

void SharedMemory::map(int file, size_t bytes) {
  const size_t all = with_front(bytes);
  const int flags = MAP_NORESERVE | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  void* const at = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, flags, file, 0);
  if (at == MAP_FAILED) throw_errno("map", kWhat, errno);
  mapped_ = {static_cast<uint8_t*>(at), all};
  bytes_ = mapped_.subspan(kFront);
}

int lock_file(const FileDescriptor& file, FileLock lock, bool wait) {
  struct flock whole {};
  whole.l_type = lock == FileLock::shared ? F_RDLCK : F_WRLCK;
  whole.l_whence = SEEK_SET;
  const int command = wait ? F_OFD_SETLKW : F_OFD_SETLK;
  if (uninterrupted([&] { return ::fcntl(file.get(), command, &whole); }) == 0) return 0;
  return errno == EACCES ? EAGAIN : errno;
}

bool has_no_locks(int errno_value) { return errno_value == ENOLCK || is_unsupported(errno_value); }

void mark_in_use(const FileDescriptor& directory) {
  uninterrupted([&] { return ::flock(directory.get(), LOCK_SH); });
}

bool is_in_use(const std::string& directory) {
  const FileDescriptor held(
      uninterrupted([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!held) return false;
  return uninterrupted([&] { return ::flock(held.get(), LOCK_EX | LOCK_NB); }) != 0 &&
         errno == EWOULDBLOCK;
}

}  // namespace stoker

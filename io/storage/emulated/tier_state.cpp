#include "io/storage/emulated/tier_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/system/neighbours.h"

// Who has the file open holds a shared lock on it. Whoever gets the exclusive one is alone: it may
// set the contents up, whatever they are, or take the file away.

namespace stoker {
namespace {

constexpr uint64_t kMagic = 0x3265746174736b73;  // raise its digit with the layout

void check(int result, const char* what) {
  if (result != 0) throw_errno(what, "of an emulated tier", result);
}

void set_up(TierState* at) {
  TierState* state = new (at) TierState;
  state->size = sizeof(TierState);
  pthread_mutexattr_t attributes;
  check(pthread_mutexattr_init(&attributes), "set up the lock");
  check(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), "share the lock");
  check(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), "set up the lock");
  check(pthread_mutex_init(&state->mutex, &attributes), "set up the lock");
  pthread_mutexattr_destroy(&attributes);
  state->magic = kMagic;
}

bool is_at(const std::string& path, const FileDescriptor& file) {
  struct stat named {
  }, held{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(file.get(), &held) == 0 &&
         named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

std::string prefix() { return fmt::format("stoker-tier-{}-", ::geteuid()); }

// Takes away what killed processes left. Whoever has opened such a file and not locked it yet finds
// it gone, and tries again.
void sweep(const std::string& directory) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string path = entry.path();
    if (!entry.path().filename().string().starts_with(prefix())) continue;
    const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file && lock_file(file, FileLock::exclusive) == 0 && is_at(path, file)) {
      ::unlink(path.c_str());
    }
  }
}

}  // namespace

TierShare::TierShare() : own_(std::make_unique<TierState>()), state_(own_.get()) { set_up(state_); }

TierShare::TierShare(const std::string& identity, const std::string& directory)
    : path_(directory + "/" + prefix() + xxh3_64(identity)), process_(::getpid()) {
  sweep(directory);
  errno = 0;
  if (join()) {
    count(1);
    return;
  }
  const std::string why = errno == 0 ? "it is not ours" : std::strerror(errno);
  remark_ = "cannot share the emulated device between processes: " + path_ + ": " + why;
  path_.clear();
  file_ = {};
  own_ = std::make_unique<TierState>();
  state_ = own_.get();
  set_up(state_);
}

bool TierShare::join() {
  for (;;) {
    file_ = FileDescriptor(
        ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!file_) return false;
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) return false;
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return false;
    const int taken = lock_file(file_, FileLock::exclusive);
    const bool alone = taken == 0;
    errno = taken == EAGAIN ? lock_file(file_, FileLock::shared, true) : taken;
    if (errno != 0) return false;
    if (is_at(path_, file_)) {
      errno = alone ? ::posix_fallocate(file_.get(), 0, sizeof(TierState)) : 0;
      if (errno != 0 || ::fstat(file_.get(), &status) != 0) return false;
      if (static_cast<size_t>(status.st_size) < sizeof(TierState)) return false;
      void* memory =
          ::mmap(nullptr, sizeof(TierState), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
      if (memory == MAP_FAILED) return false;
      state_ = static_cast<TierState*>(memory);
      if (alone) set_up(state_);
      if (state_->magic == kMagic && state_->size == sizeof(TierState)) {
        if (!alone || lock_file(file_, FileLock::shared) == 0) return true;
      }
      ::munmap(memory, sizeof(TierState));
      state_ = nullptr;
      if (is_at(path_, file_)) return false;
    }
    // Its last user took it away meanwhile: again.
  }
}

TierShare::~TierShare() {
  if (path_.empty()) return;
  if (process_ == ::getpid()) count(-1);
  ::munmap(state_, sizeof(TierState));
  const bool alone = process_ == ::getpid() && lock_file(file_, FileLock::exclusive) == 0;
  if (alone && is_at(path_, file_)) ::unlink(path_.c_str());
}

int64_t TierShare::processes() {
  if (path_.empty()) return 1;
  count(0);
  const std::lock_guard lock(*this);
  return state_->processes;
}

void TierShare::count(int32_t shares) {
  const std::lock_guard lock(*this);
  TierState::User* own = nullptr;
  for (TierState::User& user : state_->users) {
    if (user.pid != 0 && ::kill(user.pid, 0) != 0 && errno == ESRCH) user = {};
    const bool place = user.pid == process_ || (user.pid == 0 && own == nullptr);
    if (place && (own == nullptr || own->pid != process_)) own = &user;
  }
  if (own != nullptr && shares != 0) {
    own->pid = process_;
    own->shares += shares;
    if (own->shares <= 0) *own = {};
  }
  state_->processes =
      std::ranges::count_if(state_->users, [](const auto& user) { return user.pid != 0; });
}

void TierShare::lock() {
  const int result = pthread_mutex_lock(&state_->mutex);
  if (result == EOWNERDEAD) {
    check(pthread_mutex_consistent(&state_->mutex), "recover the lock");
  } else {
    check(result, "take the lock");
  }
}

}  // namespace stoker

#include "io/core/system/neighbour.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>

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

}  // namespace stoker

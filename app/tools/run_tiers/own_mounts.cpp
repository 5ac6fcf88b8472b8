#include "app/tools/run_tiers/own_mounts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

[[noreturn]] void refuse(const std::string& what, int error) {
  throw Error(
      ExitCode::environment,
      fmt::format("--tier: {}: {}: run it as root, or allow users to have namespaces (sysctl "
                  "user.max_user_namespaces, kernel.unprivileged_userns_clone=1, "
                  "kernel.apparmor_restrict_unprivileged_userns=0; in a container --cap-add "
                  "SYS_ADMIN)",
                  what, std::strerror(error)));
}

void write_map(const char* path, const std::string& text) {
  const FileDescriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) < 0) {
    refuse(fmt::format("this user cannot be itself in a namespace ({})", path), errno);
  }
}

}  // namespace

void take_own_mounts() {
  const auto user = ::geteuid();
  const auto group = ::getegid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (errno != EPERM) refuse("this process cannot have mounts of its own", errno);
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      refuse("this user cannot have mounts of its own", errno);
    }
    // Before the group: the kernel asks for it. Where it is not there, nobody does.
    if (::access("/proc/self/setgroups", F_OK) == 0) write_map("/proc/self/setgroups", "deny");
    write_map("/proc/self/uid_map", fmt::format("{} {} 1", user, user));
    write_map("/proc/self/gid_map", fmt::format("{} {} 1", group, group));
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    refuse("mounts cannot be kept to this process", errno);
  }
}

void enter_working_folder_again() {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (!error) std::filesystem::current_path(here, error);
  if (error) {
    throw Error(ExitCode::environment,
                fmt::format("--tier: the working folder cannot be entered again: {}: run it from "
                            "another folder",
                            error.message()));
  }
}

}  // namespace stoker

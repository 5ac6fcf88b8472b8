#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include "tests/support/temporary_directory.h"

namespace stoker {

// What `f` returns in a child process in which `directory` is a new file system of `type` ("tmpfs",
// "ramfs") mounted with `options` ("size=1m"), or "exception: <what>". It is gone with the child.
// Throws where this machine does not let us mount: a root without the capability, in a container,
// or a user without namespaces. To be called where no other thread runs.
inline std::string run_mounted(const std::string& directory, const std::string& type,
                               const std::string& options, const std::function<std::string()>& f) {
  constexpr int kNotPermitted = 77;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::fflush(nullptr);
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    const bool as_user = ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!as_user && ::unshare(CLONE_NEWNS) != 0) ::_exit(kNotPermitted);
    if (!as_user) ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    const auto map = [](const char* file, const std::string& text) {
      if (std::FILE* out = std::fopen(file, "w")) std::fputs(text.c_str(), out), std::fclose(out);
    };
    if (as_user) {
      map("/proc/self/setgroups", "deny");
      map("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
      map("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
    }
    if (::mount("none", directory.c_str(), type.c_str(), 0, options.c_str()) != 0) {
      ::_exit(kNotPermitted);
    }
    std::string text;
    try {
      text = f();
    } catch (const std::exception& error) {
      text = std::string("exception: ") + error.what();
    }
    ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0
                                                                                            : 1);
  }
  ::close(ends[1]);
  std::string text;
  char block[4096];
  for (ssize_t count; (count = ::read(ends[0], block, sizeof block)) > 0;) {
    text.append(block, static_cast<size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotPermitted) {
    throw std::runtime_error("mounting a " + type + " is not permitted");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "died: " + std::to_string(status);
  return text;
}

inline bool may_mount() {
  const TemporaryDirectory directory;
  try {
    run_mounted(directory.path(), "tmpfs", "size=64k", [] { return std::string(); });
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

// First in a test, or in SetUp(), of what calls run_mounted().
#define STOKER_NEEDS_MOUNTS()                                                                     \
  if (!may_mount())                                                                               \
  GTEST_SKIP() << "may not mount file systems: run it as root with CAP_SYS_ADMIN, or where user " \
                  "namespaces are allowed"

}  // namespace stoker

#include "app/tools/inject/target_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "io/core/error.h"

namespace stoker {

void refuse_target(pid_t pid, int error) {
  struct stat status {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &status) != 0) {
    throw Error(ExitCode::environment, fmt::format("process {}: there is none: it has ended, or "
                                                   "its number is that of another container",
                                                   pid));
  }
  const std::string scope =
      read_if_there("/proc/sys/kernel/yama/ptrace_scope").value_or("0").substr(0, 1);
  throw Error(
      ExitCode::environment,
      fmt::format("process {} of user {} cannot be attached to: {}{}: run it as that user or as "
                  "root{}, or start the program by `stoker run -- COMMAND`",
                  pid, status.st_uid, std::strerror(error),
                  scope == "0" ? "" : " (kernel.yama.ptrace_scope is " + scope + ")",
                  scope == "0" ? "" : ", set kernel.yama.ptrace_scope=0"));
}

std::vector<TargetMapping> target_mappings(pid_t pid) {
  std::optional<std::string> text;
  try {
    text = read_if_there(fmt::format("/proc/{}/maps", pid));
  } catch (const IoError& error) {
    refuse_target(pid, error.errno_value());
  }
  if (!text) refuse_target(pid, ESRCH);
  std::vector<TargetMapping> all;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    TargetMapping one;
    char rights[5] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &one.begin,
                    &one.end, rights, &one.offset, &path) < 4) {
      continue;
    }
    one.executable = rights[2] == 'x';
    if (path > 0) one.path = line.substr(static_cast<size_t>(path));
    all.push_back(std::move(one));
  }
  return all;
}

TargetMemory::TargetMemory(pid_t pid)
    : file_(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC)) {
  if (!file_) refuse_target(pid, errno);
}

bool TargetMemory::read(uint64_t address, void* to, size_t bytes) const {
  return ::pread(file_.get(), to, bytes, static_cast<off_t>(address)) ==
         static_cast<ssize_t>(bytes);
}

bool TargetMemory::write(uint64_t address, const void* from, size_t bytes) const {
  return ::pwrite(file_.get(), from, bytes, static_cast<off_t>(address)) ==
         static_cast<ssize_t>(bytes);
}

}  // namespace stoker

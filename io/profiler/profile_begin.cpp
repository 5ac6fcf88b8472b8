#include "io/profiler/profile_begin.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "io/metrics/clock.h"
#include "io/metrics/machine/process_stats.h"

namespace stoker {
namespace {

template <class T>
int64_t ns_of(T time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

std::optional<ProfileBegin::Kernel> ask_kernel() {
  const auto text = proc::read("/proc/self/io");
  const auto io = text ? parse_process_io(*text) : std::nullopt;
  if (!io) return std::nullopt;
  return ProfileBegin::Kernel{static_cast<int64_t>(io->rchar), static_cast<int64_t>(io->wchar),
                              static_cast<int64_t>(text->size())};
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string command_line() {
  std::string command = proc::read("/proc/self/cmdline").value_or("");
  while (command.ends_with('\0')) command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command;
}

}  // namespace

ProfileBegin begin_profile() {
  ProfileBegin now;
  now.kernel = ask_kernel();
  now.unix_ns = ns_of(std::chrono::system_clock::now());
  now.monotonic_ns = ns_of(Clock::now());
  return now;
}

IoProfile profile_between(const ProfileBegin& begin, const ProfileBegin& end) {
  IoProfile profile;
  profile.begin_ns = begin.unix_ns;
  // Taken by the clock that nobody sets.
  profile.end_ns = begin.unix_ns + end.monotonic_ns - begin.monotonic_ns;
  profile.begin_monotonic_ns = begin.monotonic_ns;
  profile.uid = ::getuid();
  profile.job_id = ::getpid();
  profile.host = host_name();
  profile.command = command_line();
  if (begin.kernel && end.kernel) {
    profile.kernel = {end.kernel->read - begin.kernel->read - begin.kernel->asking,
                      end.kernel->written - begin.kernel->written};
  }
  return profile;
}

}  // namespace stoker

#include "io/profiler/recorder_state.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <string>

#include "io/metrics/clock.h"
#include "io/metrics/machine/process_stats.h"
#include "io/profiler/recorded_files.h"

namespace stoker {

RecorderState::RecorderState(const IoRecorderOptions& options)
    : filter_{options.exclude, options.include},
      begun_(begin_profile()),
      arena_(options.memory.bytes),
      segment_arena_(options.segment_memory.bytes),
      tables({.of = this,
              .sees =
                  [](const void* of, std::string_view name) {
                    return static_cast<const RecorderState*>(of)->filter_.sees(name);
                  },
              .block_bytes =
                  [](const void* of, std::string_view name) {
                    return static_cast<const RecorderState*>(of)->mounts_.block_bytes(name);
                  },
              .memory_alignment = options.memory_alignment,
              .begin_ns = begun_.monotonic_ns},
             arena_, options.segment_memory.bytes == 0 ? nullptr : &segment_arena_) {
  tables.add_standard_streams();
}

IoProfile RecorderState::profile(Segments segments) const {
  IoProfile profile = profile_between(begun_, begin_profile());
  if (profile.kernel) {
    profile.kernel->elsewhere_read = tables.elsewhere_read;
    profile.kernel->elsewhere_written = tables.elsewhere_written;
  }
  profile.mounts = mounts_.list();
  const bool with = segments == Segments::with;
  for (FileRecord* file = tables.records.newest(); file != nullptr; file = file->next_made) {
    const std::lock_guard lock(file->mutex);
    add_recorded_file(*file, with, RecordedMemory(), profile);
  }
  std::reverse(profile.files.begin(), profile.files.end());
  add_dropped(tables, profile);
  return profile;
}

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

namespace {

bool begins_with_one(std::string_view name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.starts_with(prefix); });
}

}  // namespace

bool PathFilter::sees(std::string_view name) const {
  if (name.starts_with('<')) return true;
  if (!name.starts_with('/')) return false;
  return !begins_with_one(name, exclude) || begins_with_one(name, include);
}

}  // namespace stoker

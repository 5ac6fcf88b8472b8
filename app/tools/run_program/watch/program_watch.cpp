#include "app/tools/run_program/watch/program_watch.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "app/tools/run_program/watch/machine_watch.h"
#include "app/tools/run_program/watch/process_table.h"
#include "io/core/system/usable_cores.h"
#include "io/metrics/machine/process_stats.h"

namespace stoker {
namespace {

double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of the program's cgroup, since it was made.
std::optional<double> throttled(pid_t root) {
  const auto cgroup = proc::read(fmt::format("/proc/{}/cgroup", root));
  std::optional<double> most;
  for (const std::string& path : cpu_stat_paths(cgroup.value_or(""))) {
    const auto text = proc::read(path);
    const auto seconds = text ? throttled_seconds(*text) : std::nullopt;
    if (seconds) most = std::max(most.value_or(0), *seconds);
  }
  return most;
}

}  // namespace

ProgramWatch::ProgramWatch(pid_t root, WatchPace pace)
    : root_(root), pace_(pace), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

ProgramSamples ProgramWatch::stop() {
  thread_.request_stop();
  thread_.join();
  return std::move(samples_);
}

void ProgramWatch::watch(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "stoker-watch");
  const double began_s = seconds_of(CLOCK_BOOTTIME);
  const double own_begin_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  ProcessTable table(root_, began_s);
  MachineWatch machine;
  SampleWindow now;
  // What is asked less often than every look: new processes, and the machine.
  constexpr double kThoroughly_s = 0.2;
  double thorough_s = -1;
  std::optional<double> throttled_before;
  std::optional<double> throttled_now;
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    last = stop.stop_requested();
    const double now_s = seconds_of(CLOCK_BOOTTIME) - began_s;
    const double own_now_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    const bool thoroughly = now_s - thorough_s >= kThoroughly_s || now_s < 1;
    table.look(now_s, thoroughly);
    if (now_s - thorough_s >= kThoroughly_s) {
      thorough_s = now_s;
      now = machine.look(now_s, table.cpu_s(), table.has_gpu());
      if (const auto seconds = throttled(root_)) throttled_now = seconds;
      if (!throttled_before) throttled_before = throttled_now;
    }
    table.course().close(now_s, now);
    ++samples_.looks;
    const double cost_s = seconds_of(CLOCK_THREAD_CPUTIME_ID) - own_now_s;
    const double pause = std::clamp(cost_s / pace_.most_cost, pace_.shortest_s, pace_.longest_s);
    samples_.seconds = now_s;
    if (!last)
      wake_.wait_for(lock, stop, std::chrono::duration<double>(pause), [] { return false; });
  }
  table.finish(samples_);
  samples_.disks = machine.disks();
  samples_.gpu_busy = machine.gpu_busy();
  samples_.usable_cores = static_cast<double>(usable_cores());
  samples_.quota_cores = cpu_quota();
  samples_.throttled_s = throttled_now.value_or(0) - throttled_before.value_or(0);
  samples_.own_s = seconds_of(CLOCK_THREAD_CPUTIME_ID) - own_begin_s;
}

}  // namespace stoker

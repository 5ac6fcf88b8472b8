#include "app/tools/run_program/watch/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "io/metrics/machine/process_stats.h"

namespace stoker {
namespace {

// What a program has more of than this is summed up under one name.
constexpr size_t kMostPaths = 20'000;
constexpr const char* kOtherPaths = "(other files)";

// The numbers that a folder of /proc has as names; empty where there is none.
std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), &::closedir);
  if (directory == nullptr) return numbers;
  while (const dirent* entry = ::readdir(directory.get())) {
    pid_t number = 0;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, number).ptr == end) numbers.push_back(number);
  }
  return numbers;
}

int64_t cores_of(pid_t pid) {
  cpu_set_t cores;
  return ::sched_getaffinity(pid, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

bool has_gpu_open(pid_t pid, TaskFiles& files) {
  for (const pid_t descriptor : numbers_in(fmt::format("/proc/{}/fd", pid))) {
    const std::string_view link = files.link(fmt::format("/proc/{}/fd/{}", pid, descriptor));
    if (link.starts_with("/dev/nvidia") && link.size() > 11 && link[11] >= '0' && link[11] <= '9') {
      return true;
    }
  }
  return false;
}

}  // namespace

ProcessTable::ProcessTable(pid_t root, double began_s) : root_(root), began_s_(began_s) {
  add_process(root, ::getpid());
}

void ProcessTable::add_process(pid_t pid, pid_t parent) {
  live_.emplace(pid, LiveProcess{.index = processes_.size(), .threads = {}});
  processes_.push_back({.pid = pid,
                        .parent = parent,
                        .name = {},
                        .command = {},
                        .begin_s = now_s_,
                        .end_s = now_s_});
}

void ProcessTable::find_children(pid_t pid, LiveProcess& process) {
  for (auto& [tid, thread] : process.threads) {
    if (!std::exchange(thread.may_have_started, false)) continue;
    // The kernel gives a page of it at a time.
    const auto text = proc::read(fmt::format("/proc/{}/task/{}/children", pid, tid));
    for (const pid_t child : parse_numbers(text.value_or(""))) {
      if (!live_.contains(child)) add_process(child, pid);
    }
  }
}

void ProcessTable::look(double now_s, bool with_processes) {
  now_s_ = now_s;
  // Children that are found here come behind their parent, or at the next look.
  for (auto process = live_.begin(); process != live_.end();) {
    if (look_at(process->first, process->second, now_s, with_processes)) {
      ++process;
    } else {
      for (auto& [tid, thread] : process->second.threads) end_thread(thread);
      process = live_.erase(process);
    }
  }
}

bool ProcessTable::look_at(pid_t pid, LiveProcess& process, double now_s, bool thoroughly) {
  const std::vector<pid_t> tids = numbers_in(fmt::format("/proc/{}/task", pid));
  if (tids.empty()) return false;
  processes_[process.index].end_s = now_s;
  for (auto& [tid, thread] : process.threads) thread.seen = false;
  for (const pid_t tid : tids) {
    LiveThread& thread = thread_of(process, pid, tid, now_s);
    thread.seen = true;
    look_at_thread(pid, tid, thread, now_s);
  }
  for (auto thread = process.threads.begin(); thread != process.threads.end();) {
    if (thread->second.seen) {
      ++thread;
    } else {
      end_thread(thread->second);
      thread = process.threads.erase(thread);
    }
  }
  if (thoroughly) {
    find_children(pid, process);
    look_at_libraries(pid, process);
    describe(pid, process);
  }
  return true;
}

ProcessTable::LiveThread& ProcessTable::thread_of(LiveProcess& process, pid_t pid, pid_t tid,
                                                  double now_s) {
  const auto known = process.threads.find(tid);
  if (known != process.threads.end()) return known->second;
  const std::string_view text = files_.read(fmt::format("/proc/{}/task/{}/stat", pid, tid));
  const auto stat = parse_task_stat(text, ticks_per_second());
  // The kernel's time of a begin is in ticks.
  const double begin_s = stat ? std::clamp(stat->start_s - began_s_, 0.0, now_s) : now_s;
  if (processes_[process.index].pid == tid && stat) {
    processes_[process.index].begin_s = begin_s;
    if (stat->parent != ::getpid() && stat->parent > 1) {
      processes_[process.index].parent = stat->parent;
    }
  }
  threads_.push_back({.tid = tid,
                      .process = process.index,
                      .name = stat ? stat->name : "",
                      .begin_s = begin_s,
                      .end_s = now_s,
                      .did = {},
                      .major_faults = 0,
                      .main = tid == pid});
  constexpr size_t kMostOpen = 256;
  FileDescriptor schedule;
  if (kept_open_ < kMostOpen) {
    const std::string path = fmt::format("/proc/{}/task/{}/schedstat", pid, tid);
    schedule = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (schedule) ++kept_open_;
  }
  LiveThread thread{.index = threads_.size() - 1,
                    .meter = ThreadMeter(begin_s),
                    .schedule = std::move(schedule),
                    .blocked = {}};
  return process.threads.emplace(tid, std::move(thread)).first->second;
}

void ProcessTable::look_at_thread(pid_t pid, pid_t tid, LiveThread& thread, double now_s) {
  const auto file = [&](const char* name) {
    return fmt::format("/proc/{}/task/{}/{}", pid, tid, name);
  };
  const auto schedule = parse_schedule(thread.schedule ? files_.read(thread.schedule)
                                                       : files_.read(file("schedstat")));
  if (!schedule) return;
  ThreadSamples& samples = threads_[thread.index];
  samples.end_s = now_s;
  if (thread.meter.has_run(*schedule) || thread.runs) {
    thread.may_have_started = true;
    const auto stat = parse_task_stat(files_.read(file("stat")), ticks_per_second());
    if (!stat) return;
    samples.name = stat->name;
    samples.major_faults = stat->major_faults;
    thread.runs = stat->state == 'R';
    if (stat->state == 'Z' || stat->state == 'X') return;
    if (!thread.runs) {
      thread.blocked = reader_.read(pid, tid, stat->state);
      thread.runs = thread.blocked.doing == Doing::on_core;
    }
  }
  const auto blocked = thread.runs ? std::nullopt : std::optional<Doing>(thread.blocked.doing);
  const DoingSeconds did = thread.meter.look(now_s, *schedule, blocked);
  samples.did += did;
  cpu_s_ += did[Doing::on_core];
  course_.add(thread.index, did);
  if (blocked && did[*blocked] > 0) count_blocked(pid, thread.blocked, did[*blocked]);
}

void ProcessTable::end_thread(LiveThread& thread) {
  const DoingSeconds did = thread.meter.end(threads_[thread.index].did);
  threads_[thread.index].did += did;
  course_.add(thread.index, did);
  if (thread.schedule) --kept_open_;
}

void ProcessTable::look_at_libraries(pid_t pid, LiveProcess& process) {
  ProcessSamples& samples = processes_[process.index];
  const double quiet_s = now_s_ - std::max(samples.loaded_s, samples.begin_s);
  // A library that comes later belongs to the work.
  constexpr double kBegun_s = 2;
  if (quiet_s > kBegun_s) return;
  const std::string_view status = files_.read(fmt::format("/proc/{}/status", pid));
  const uint64_t kib = proc::number_of(status, "VmLib:\t").value_or(0);
  constexpr uint64_t kLittle = 64;
  if (kib > process.library_kib + kLittle) samples.loaded_s = now_s_;
  process.library_kib = std::max(process.library_kib, kib);
}

void ProcessTable::describe(pid_t pid, LiveProcess& process) {
  ProcessSamples& samples = processes_[process.index];
  const auto main = process.threads.find(pid);
  const std::string name = main == process.threads.end() ? "" : threads_[main->second.index].name;
  const bool renamed = !name.empty() && name != samples.name;
  // A new program may run under the old name, so one looks again, ever more seldom.
  const uint64_t times = ++process.descriptions;
  const bool again = (times & (times - 1)) == 0 || times % 64 == 0;
  if (renamed || again || samples.command.empty()) {
    if (!name.empty()) samples.name = name;
    auto command = parse_command(files_.read(fmt::format("/proc/{}/cmdline", pid)));
    if (!command.empty()) samples.command = std::move(command);
    if (const int64_t cores = cores_of(pid); cores > 0) samples.cores = cores;
    has_gpu_ = has_gpu_ || has_gpu_open(pid, files_);
  }
  const auto io = parse_process_io(files_.read(fmt::format("/proc/{}/io", pid)));
  if (io) samples.device_bytes = io->read_bytes;
}

void ProcessTable::count_blocked(pid_t pid, const Blocked& blocked, double seconds) {
  if (blocked.doing == Doing::in_fault && now_s_ - maps_read_s_ > 1) {
    maps_read_s_ = now_s_;
    for (std::string& path : reader_.mapped_files(pid)) {
      if (std::ranges::find(mapped_, path) == mapped_.end()) mapped_.push_back(std::move(path));
    }
  }
  if (blocked.doing != Doing::in_file && blocked.doing != Doing::on_socket) return;
  std::string path = blocked.path;
  const std::string key = std::string(kDoingNames[static_cast<size_t>(blocked.doing)]) + path;
  auto known = blocked_.find(key);
  if (known == blocked_.end()) {
    if (blocked_.size() >= kMostPaths) path = kOtherPaths;
    known = blocked_.emplace(blocked_.size() >= kMostPaths ? kOtherPaths : key, BlockedOn{}).first;
    known->second.path = path;
    known->second.doing = blocked.doing;
  }
  known->second.seconds += seconds;
  if (!known->second.mount.empty() || !path.starts_with('/')) return;
  const std::string folder = path.substr(0, path.rfind('/'));
  auto mount = mounts_.find(folder);
  if (mount == mounts_.end()) {
    mount = mounts_.emplace(folder, reader_.mount_of_path(pid, path)).first;
  }
  known->second.mount = mount->second;
}

void ProcessTable::finish(ProgramSamples& samples) {
  for (auto& [pid, process] : live_) {
    for (auto& [tid, thread] : process.threads) end_thread(thread);
  }
  live_.clear();
  samples.windows = course_.finish();
  samples.processes = std::move(processes_);
  samples.threads = std::move(threads_);
  samples.mapped = std::move(mapped_);
  for (auto& [key, blocked] : blocked_) samples.blocked.push_back(std::move(blocked));
  std::ranges::sort(samples.blocked, std::greater(), &BlockedOn::seconds);
}

}  // namespace stoker

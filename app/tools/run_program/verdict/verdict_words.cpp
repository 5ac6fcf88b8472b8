#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "app/tools/run_program/verdict/program_verdict.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.1f} MB", 1e-6 * static_cast<double>(bytes));
}

std::string process_name(const ProcessSamples& process) {
  return fmt::format("{} (process {})", process.name.empty() ? "the program" : process.name,
                     process.pid);
}

// "1.2 s on a core, 0.4 s blocked in files": the largest parts of what threads did.
std::string doing_text(const DoingSeconds& did) {
  constexpr std::array kWords = {"on a core",
                                 "waiting for a core",
                                 "blocked in calls on files",
                                 "blocked in page faults",
                                 "asleep",
                                 "waiting for a pipe",
                                 "waiting for another thread",
                                 "polling",
                                 "waiting for a socket",
                                 "waiting for a process to end",
                                 "waiting for a GPU",
                                 "blocked elsewhere"};
  const double all = did.sum();
  std::vector<size_t> order;
  for (size_t i = 0; i < kDoings; ++i) {
    if (did.seconds[i] > 0.01 * all) order.push_back(i);
  }
  std::ranges::sort(order, [&](size_t a, size_t b) { return did.seconds[a] > did.seconds[b]; });
  std::string text;
  for (const size_t i : order) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", percent(did.seconds[i] / all), kWords[i]);
  }
  return text;
}

DoingSeconds sum_of(const ProgramSamples& samples, const std::vector<size_t>& threads) {
  DoingSeconds sum;
  for (const size_t thread : threads) sum += samples.threads[thread].did;
  return sum;
}

// The main threads among them.
std::vector<size_t> mains_of(const ProgramSamples& samples, const std::vector<size_t>& threads) {
  std::vector<size_t> mains;
  for (const size_t thread : threads) {
    if (samples.threads[thread].main) mains.push_back(thread);
  }
  return mains;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? path : path.substr(0, slash);
}

// The folder that all of them lie in; empty: they have none in common but the root.
std::string common_folder(const std::vector<std::string>& paths) {
  if (paths.empty()) return {};
  std::string common = paths.size() == 1 ? paths.front() : folder_of(paths.front());
  for (const std::string& path : paths) {
    while (!common.empty() && path != common && !path.starts_with(common + "/")) {
      common = common.find('/') == common.rfind('/') ? "" : folder_of(common);
    }
  }
  return common;
}

// Files of the file system that was waited for longest, most time first.
std::vector<BlockedOn> files_of_slowest_mount(const ProgramSamples& samples) {
  std::vector<BlockedOn> files = data_files(samples);
  std::map<std::string, double> seconds;
  for (const BlockedOn& file : files) seconds[file.mount] += file.seconds;
  const auto slowest =
      std::ranges::max_element(seconds, {}, [](const auto& of) { return of.second; });
  std::erase_if(files, [&](const BlockedOn& file) { return file.mount != slowest->first; });
  return files;
}

// Folder and file system of what took most of the time.
std::string storage_place(const VerdictMatter& matter) {
  const std::vector<BlockedOn> files = files_of_slowest_mount(matter.samples);
  std::vector<std::string> paths;
  double all = 0;
  for (const BlockedOn& file : files) all += file.seconds;
  double seen = 0;
  for (const BlockedOn& file : files) {
    constexpr double kMost = 0.8;
    if (seen > kMost * all) break;
    seen += file.seconds;
    paths.push_back(file.path);
  }
  if (!files.empty()) {
    const std::string folder = common_folder(paths);
    const std::string place = folder.empty() ? files.front().path : folder;
    return files.front().mount.empty() ? place : fmt::format("{} ({})", place, files.front().mount);
  }
  if (!matter.samples.mapped.empty()) {
    return common_folder(matter.samples.mapped) + " (mapped)";
  }
  return matter.io.files.empty() ? "" : matter.io.files.front().path;
}

void add_thread_evidence(const VerdictMatter& matter, ProgramVerdict& verdict) {
  const ProgramRoles::Rank& rank = matter.roles.ranks[matter.rank];
  const ProgramSamples& samples = matter.samples;
  verdict.evidence.push_back(fmt::format("the main thread of {}, of {:.1f} s in all: {}",
                                         process_name(samples.processes[rank.process]),
                                         samples.threads[rank.thread].did.sum(),
                                         doing_text(samples.threads[rank.thread].did)));
  if (const auto mains = mains_of(samples, rank.workers); !mains.empty()) {
    verdict.evidence.push_back(fmt::format("its {} worker processes: {}", mains.size(),
                                           doing_text(sum_of(samples, mains))));
  }
  const DoingSeconds threads = sum_of(samples, rank.threads);
  if (threads[Doing::on_core] + threads[Doing::in_file] > 0.1) {
    verdict.evidence.push_back(
        fmt::format("its {} other threads: {}", rank.threads.size(), doing_text(threads)));
  }
}

void add_file_evidence(const VerdictMatter& matter, ProgramVerdict& verdict) {
  // A file that was met in one look stands for others that were not: only what was met often has a
  // line of its own.
  constexpr double kLargePart = 0.1;
  constexpr size_t kLines = 3;
  const std::vector<BlockedOn> files = data_files(matter.samples);
  double all = 0;
  for (const BlockedOn& file : files) all += file.seconds;
  if (all > 0) {
    verdict.evidence.push_back(
        fmt::format("threads were blocked for {:.2f} s in sum; looks met them on {}", all,
                    plural(files.size(), "file")));
  }
  for (size_t i = 0; i < std::min(files.size(), kLines); ++i) {
    if (files[i].seconds < kLargePart * all) break;
    verdict.evidence.push_back(
        fmt::format("threads were blocked on {} for {:.2f} s", files[i].path, files[i].seconds));
  }
  int64_t bytes = 0;
  int64_t cold = 0;
  for (const ProgramIo::File& file : matter.io.files) {
    bytes += file.bytes_read;
    cold += file.cold_bytes;
  }
  uint64_t device = 0;
  for (const ProcessSamples& process : matter.samples.processes) device += process.device_bytes;
  if (bytes > 0) {
    verdict.evidence.push_back(fmt::format(
        "{} were read of files; {} came from devices in all, for mapped files as well, and {} of "
        "that by the end of slow reads",
        megabytes(bytes), megabytes(static_cast<int64_t>(device)), megabytes(cold)));
  }
  double busy = 0;
  for (const SampleWindow& window : matter.samples.windows) {
    busy = std::max(busy, window.disk_busy.value_or(0));
  }
  if (busy > 0.5) {
    verdict.evidence.push_back(
        fmt::format("the busiest block device was busy for up to {} of the time", percent(busy)));
  }
}

void add_core_evidence(const VerdictMatter& matter, ProgramVerdict& verdict) {
  const ProgramSamples& samples = matter.samples;
  const ProgramRoles::Rank& rank = matter.roles.ranks[matter.rank];
  const int64_t cores = samples.processes[rank.process].cores;
  verdict.evidence.push_back(fmt::format(
      "it may use {} cores{}", cores > 0 ? fmt::format("{}", cores) : "an unknown number of",
      samples.quota_cores ? fmt::format(", of which a cgroup allows {:.2f}", *samples.quota_cores)
                          : ""));
  if (samples.throttled_s > 0.05) {
    verdict.evidence.push_back(
        fmt::format("its cgroup's limit stopped it for {:.1f} s", samples.throttled_s));
  }
  double others = 0;
  double begin_s = 0;
  for (const SampleWindow& window : samples.windows) {
    others += window.other_cores.value_or(0) * (window.end_s - begin_s);
    begin_s = window.end_s;
  }
  if (samples.seconds > 0 && others / samples.seconds > 0.1) {
    verdict.evidence.push_back(
        fmt::format("other programs kept {:.1f} cores busy", others / samples.seconds));
  }
}

// What reading costs the processor: copies of what is in memory.
void add_copy_evidence(const VerdictMatter& matter, ProgramVerdict& verdict) {
  if (matter.io.copied_s > 0.02 * matter.samples.seconds) {
    verdict.evidence.push_back(fmt::format(
        "reads that did not wait took {:.1f} s: that is copying from memory, not storage",
        matter.io.copied_s));
  }
}

std::string rank_name(const VerdictMatter& matter) {
  const ProcessSamples& process = matter.samples.processes[matter.roles.ranks[matter.rank].process];
  return fmt::format("process {}, one of {} ranks", process.pid, matter.roles.ranks.size());
}

// What decides in the rank for which the others wait.
Bound own_bound(TimeSplit split) {
  split[Bound::peers] = 0;
  return split.largest();
}

const char* cause_text(Bound bound) {
  switch (bound) {
    case Bound::storage:
      return "waits for files";
    case Bound::workers:
      return "waits for the processor time of its workers";
    case Bound::main_process:
      return "computes in its main thread";
    case Bound::cores:
      return "waits for cores";
    case Bound::gpu:
      return "waits for its GPU";
    case Bound::peers:
      return "waits for other ranks";
    case Bound::network:
      return "waits for a server";
    case Bound::unknown:
      break;
  }
  return "waits for something that cannot be seen from outside";
}

void peers_words(const VerdictMatter& matter, ProgramVerdict& verdict) {
  for (size_t i = 0; i < matter.splits.size(); ++i) {
    const ProcessSamples& process = matter.samples.processes[matter.roles.ranks[i].process];
    verdict.evidence.push_back(fmt::format(
        "process {}: waits for other ranks {} of its time, and {} {}", process.pid,
        percent(matter.splits[i].share(Bound::peers)), cause_text(own_bound(matter.splits[i])),
        percent(matter.splits[i].share(own_bound(matter.splits[i])))));
  }
  if (!matter.straggles) {
    verdict.what = "The ranks wait for each other, and none of them is the slow one.";
    verdict.next = "look at the exchange between ranks: its bytes, and the network";
    return;
  }
  verdict.where = rank_name(matter);
  const Bound own = own_bound(matter.splits[matter.rank]);
  verdict.what =
      fmt::format("One rank is slower than the others, which wait for it: it {}.", cause_text(own));
  verdict.next = fmt::format("see why process {} {}: its data, its node, its share of the work",
                             matter.samples.processes[matter.roles.ranks[matter.rank].process].pid,
                             cause_text(own));
}

void storage_words(const VerdictMatter& matter, ProgramVerdict& verdict) {
  verdict.where = storage_place(matter);
  const ProgramRoles::Rank& rank = matter.roles.ranks[matter.rank];
  verdict.what =
      fmt::format("Storage: {} of the time goes by waiting for files.", percent(verdict.share));
  add_file_evidence(matter, verdict);
  verdict.next =
      rank.worker_processes == 0 && rank.threads.empty()
          ? "let workers or threads read ahead, so that it computes meanwhile"
          : "more workers that read at a time, larger reads, or the data on a faster tier";
}

void workers_words(const VerdictMatter& matter, ProgramVerdict& verdict) {
  const ProgramRoles::Rank& rank = matter.roles.ranks[matter.rank];
  const bool processes = rank.worker_processes > 0;
  verdict.where =
      processes ? fmt::format("{} worker processes of process {}", rank.worker_processes,
                              matter.samples.processes[rank.process].pid)
                : fmt::format("threads of process {}", matter.samples.processes[rank.process].pid);
  verdict.what = fmt::format(
      "Work in {}, such as decoding: the main thread waits for their processor time {} of the "
      "time.",
      processes ? "workers" : "other threads", percent(verdict.share));
  add_copy_evidence(matter, verdict);
  add_core_evidence(matter, verdict);
  verdict.next =
      "more workers if cores are free, a faster decoder, or data that need less work for a sample";
}

void main_words(const VerdictMatter& matter, ProgramVerdict& verdict) {
  const ProgramRoles::Rank& rank = matter.roles.ranks[matter.rank];
  verdict.where = process_name(matter.samples.processes[rank.process]);
  verdict.what =
      fmt::format("The main process computes {} of the time: faster input brings at most the rest.",
                  percent(verdict.share));
  add_copy_evidence(matter, verdict);
  verdict.next =
      rank.worker_processes == 0
          ? "if it reads and decodes in its main thread, give that to workers; else make "
            "the computation faster"
          : "make the computation of the main process faster: the input keeps up";
}

void cores_words(const VerdictMatter& matter, ProgramVerdict& verdict) {
  verdict.what = fmt::format("Too few cores: {} of the time threads could run and have no core.",
                             percent(verdict.share));
  verdict.where = process_name(matter.samples.processes[matter.roles.ranks[matter.rank].process]);
  add_core_evidence(matter, verdict);
  verdict.next = matter.samples.throttled_s > 0.05
                     ? "raise the limit of its cgroup, or start fewer workers and threads"
                     : "give it more cores, start fewer workers and threads, or end what else runs";
}

void other_words(const VerdictMatter& matter, ProgramVerdict& verdict) {
  if (verdict.bound == Bound::gpu) {
    verdict.what =
        fmt::format("The GPU computes {} of the time: the input keeps up.", percent(verdict.share));
    if (matter.samples.gpu_busy) {
      verdict.evidence.push_back(
          fmt::format("its GPU was busy {} of the time", percent(*matter.samples.gpu_busy)));
    }
    verdict.next = "make the step itself faster: larger batches, another precision, more GPUs";
    return;
  }
  if (verdict.bound == Bound::network) {
    for (const BlockedOn& one : matter.samples.blocked) {
      if (one.doing == Doing::on_socket && verdict.where.empty()) verdict.where = one.path;
    }
    verdict.what = fmt::format(
        "A server at the other end of a socket: {} of the time goes by "
        "waiting for it.",
        percent(verdict.share));
    verdict.next = "more requests at a time, larger ones, or a copy of the data that is nearer";
    return;
  }
  verdict.what = "It waits for something that cannot be seen from outside.";
  verdict.next = "look at the table of threads for what they wait in";
}

}  // namespace

void put_into_words(const VerdictMatter& matter, ProgramVerdict& verdict) {
  if (!verdict.bound) {
    verdict.what = fmt::format(
        "Nothing can be said: only {:.1f} s of its work were seen, and half a second is needed.",
        verdict.judged_s);
    verdict.next = "let it run longer";
    return;
  }
  add_thread_evidence(matter, verdict);
  switch (*verdict.bound) {
    case Bound::storage:
      return storage_words(matter, verdict);
    case Bound::workers:
      return workers_words(matter, verdict);
    case Bound::main_process:
      return main_words(matter, verdict);
    case Bound::cores:
      return cores_words(matter, verdict);
    case Bound::peers:
      return peers_words(matter, verdict);
    case Bound::gpu:
    case Bound::network:
    case Bound::unknown:
      return other_words(matter, verdict);
  }
}

}  // namespace stoker

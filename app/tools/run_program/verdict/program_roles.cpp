#include "app/tools/run_program/verdict/program_roles.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stoker {
namespace {

constexpr std::array kLaunchers = {
    "sh",        "bash", "dash",    "zsh",     "torchrun", "mpirun",  "mpiexec", "srun",
    "env",       "time", "timeout", "nice",    "xargs",    "taskset", "numactl", "accelerate",
    "deepspeed", "make", "setsid",  "unshare", "ionice",   "orterun", "uv"};
constexpr std::array kLaunchingModules = {"torch.distributed.run", "torch.distributed.launch",
                                          "torchrun", "accelerate", "deepspeed"};
std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool any_word_has(const std::vector<std::string>& words, std::string_view part) {
  return std::ranges::any_of(
      words, [part](const std::string& word) { return word.find(part) != std::string::npos; });
}

// Python's processes that only tidy up behind others.
bool tidies(const ProcessSamples& process) {
  return any_word_has(process.command, "resource_tracker") ||
         any_word_has(process.command, "semaphore_tracker");
}

double lifetime(const ProcessSamples& process) { return process.end_s - process.begin_s; }

// The same program: its words may tell it its rank.
bool alike(const ProcessSamples& a, const ProcessSamples& b) {
  if (a.command.size() != b.command.size() || a.command.empty()) return false;
  const size_t compared = std::min<size_t>(a.command.size(), 2);
  return std::equal(a.command.begin(), a.command.begin() + static_cast<std::ptrdiff_t>(compared),
                    b.command.begin());
}

class RoleFinder {
 public:
  explicit RoleFinder(const ProgramSamples& samples);
  ProgramRoles find();

 private:
  const std::vector<size_t>& children_of(size_t process) const;
  std::optional<size_t> main_thread(size_t process) const;
  bool launches(size_t process) const;
  // What the process does, or what it launches.
  void collect(size_t process, int depth, std::vector<size_t>& found) const;
  ProgramRoles::Rank rank_of(size_t process, const std::vector<size_t>& others) const;
  void add_worker(size_t process, int depth, ProgramRoles::Rank& rank) const;
  // What it has started, as far as that was there when the rank had begun.
  void add_children(size_t process, int depth, ProgramRoles::Rank& rank) const;

  const ProgramSamples& samples_;
  // There may be many thousands of processes, so they are sorted once.
  std::map<pid_t, std::vector<size_t>> children_;  // by the parent
  std::vector<std::vector<size_t>> threads_;       // by process
};

constexpr int kDeepest = 16;

RoleFinder::RoleFinder(const ProgramSamples& samples)
    : samples_(samples), threads_(samples.processes.size()) {
  for (size_t i = 0; i < samples.processes.size(); ++i) {
    const ProcessSamples& one = samples.processes[i];
    if (one.parent != one.pid && !tidies(one)) children_[one.parent].push_back(i);
  }
  for (size_t i = 0; i < samples.threads.size(); ++i) {
    threads_[samples.threads[i].process].push_back(i);
  }
}

const std::vector<size_t>& RoleFinder::children_of(size_t process) const {
  static const std::vector<size_t> none;
  const auto found = children_.find(samples_.processes[process].pid);
  return found == children_.end() ? none : found->second;
}

std::optional<size_t> RoleFinder::main_thread(size_t process) const {
  for (const size_t thread : threads_[process]) {
    if (samples_.threads[thread].main) return thread;
  }
  return std::nullopt;
}

bool RoleFinder::launches(size_t process) const {
  const std::vector<size_t>& children = children_of(process);
  const auto main = main_thread(process);
  if (children.empty()) return false;
  if (launches_by_name(samples_.processes[process].command)) return true;
  if (!main) return true;
  double first_s = samples_.seconds;
  double last_s = 0;
  for (const size_t child : children) {
    first_s = std::min(first_s, samples_.processes[child].begin_s);
    last_s = std::max(last_s, samples_.processes[child].end_s);
  }
  // While there are children it waits for them to end.
  double waits = 0;
  double all = 0;
  for (const SampleWindow& window : samples_.windows) {
    if (window.end_s < first_s || window.end_s > last_s) continue;
    for (const SampleWindow::Share& share : window.threads) {
      if (share.thread != *main) continue;
      waits += share.did[Doing::on_children];
      all += share.did.sum();
    }
  }
  constexpr double kMostly = 0.7;
  return all > 0 && waits > kMostly * all;
}

void RoleFinder::collect(size_t process, int depth, std::vector<size_t>& found) const {
  if (depth > kDeepest || !launches(process)) {
    found.push_back(process);
    return;
  }
  for (const size_t child : children_of(process)) collect(child, depth + 1, found);
}

void RoleFinder::add_worker(size_t process, int depth, ProgramRoles::Rank& rank) const {
  ++rank.worker_processes;
  rank.workers.insert(rank.workers.end(), threads_[process].begin(), threads_[process].end());
  add_children(process, depth, rank);
}

void RoleFinder::add_children(size_t process, int depth, ProgramRoles::Rank& rank) const {
  if (depth > kDeepest) return;
  for (const size_t child : children_of(process)) {
    if (samples_.processes[child].end_s > rank.begin_s) add_worker(child, depth + 1, rank);
  }
}

ProgramRoles::Rank RoleFinder::rank_of(size_t process, const std::vector<size_t>& others) const {
  const ProcessSamples& samples = samples_.processes[process];
  ProgramRoles::Rank rank{.process = process,
                          .thread = main_thread(process).value_or(0),
                          .threads = {},
                          .workers = {},
                          .begin_s = std::max(samples.begin_s, samples.loaded_s),
                          .end_s = samples.end_s};
  for (const size_t thread : threads_[process]) {
    if (thread != rank.thread) rank.threads.push_back(thread);
  }
  add_children(process, 0, rank);
  // What else ran at that time, such as the other end of a pipe.
  for (const size_t other : others) add_worker(other, 0, rank);
  double first_s = rank.end_s;
  for (const size_t worker : rank.workers) {
    const ThreadSamples& thread = samples_.threads[worker];
    const double loaded_s = samples_.processes[thread.process].loaded_s;
    if (thread.main) first_s = std::min(first_s, std::max(thread.begin_s, loaded_s));
  }
  // Before it has workers a program begins; but one that needs them late has not only begun.
  constexpr double kBegins = 0.6;
  const double latest_s = samples.begin_s + kBegins * (rank.end_s - samples.begin_s);
  if (first_s <= latest_s) rank.begin_s = std::max(rank.begin_s, first_s);
  return rank;
}

ProgramRoles RoleFinder::find() {
  ProgramRoles roles;
  if (samples_.processes.empty()) return roles;
  std::vector<size_t> found;
  collect(0, 0, found);
  std::erase_if(found, [this](size_t process) { return !main_thread(process); });
  if (found.empty()) return roles;
  const auto longest = *std::ranges::max_element(
      found, {}, [this](size_t process) { return lifetime(samples_.processes[process]); });
  const ProcessSamples& first = samples_.processes[longest];
  std::vector<size_t> ranks;
  std::vector<size_t> others;
  for (const size_t process : found) {
    const ProcessSamples& one = samples_.processes[process];
    const double together = std::min(one.end_s, first.end_s) - std::max(one.begin_s, first.begin_s);
    if (together < 0.5 * lifetime(first)) continue;
    (process == longest || alike(one, first) ? ranks : others).push_back(process);
  }
  for (const size_t process : ranks) roles.ranks.push_back(rank_of(process, others));
  return roles;
}

}  // namespace

bool launches_by_name(const std::vector<std::string>& command) {
  if (command.empty()) return false;
  const std::string_view name = last_part(command.front());
  if (std::ranges::find(kLaunchers, name) != kLaunchers.end()) return true;
  // python -m torch.distributed.run, or python /usr/bin/torchrun
  for (size_t i = 1; i < std::min<size_t>(command.size(), 4); ++i) {
    for (const char* module : kLaunchingModules) {
      if (last_part(command[i]) == module) return true;
    }
  }
  return false;
}

ProgramRoles roles_of(const ProgramSamples& samples) { return RoleFinder(samples).find(); }

}  // namespace stoker

#include "app/tools/run_program/verdict/time_split.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace stoker {
namespace {

using Parts = std::array<double, kBounds>;

double& at(Parts& parts, Bound bound) { return parts[static_cast<size_t>(bound)]; }

double sum_of(const Parts& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); }

// What was taken back from one window may have been given to the one before.
DoingSeconds not_negative(DoingSeconds did) {
  for (double& seconds : did.seconds) seconds = std::max(0.0, seconds);
  return did;
}

// What helpers did that others may wait for.
Parts activity(const DoingSeconds& did) {
  Parts parts{};
  at(parts, Bound::workers) = did[Doing::on_core] + did[Doing::asleep];
  at(parts, Bound::cores) = did[Doing::for_core];
  at(parts, Bound::storage) = did[Doing::in_file] + did[Doing::in_fault];
  at(parts, Bound::network) = did[Doing::on_socket];
  at(parts, Bound::gpu) = did[Doing::on_gpu];
  return parts;
}

// Divides the time of one rank, one window after the other.
class Splitter {
 public:
  Splitter(const ProgramSamples& samples, const ProgramRoles::Rank& rank, bool alone);
  TimeSplit split();

 private:
  enum class Role { none, main, thread, worker };

  // What they did in a window.
  struct Window {
    DoingSeconds main;
    Parts threads{};          // of the same process
    Parts workers{};          // main threads of processes
    Parts all{};              // all of them, with the workers' other threads
    double workers_busy = 0;  // share of the workers' time
  };

  Window gather(const SampleWindow& window, double length) const;
  // part: of the window, that lies between the rank's begin and end.
  void add(const SampleWindow& window, double length, double part);
  // Divides a wait as helpers spent their time; what they do not explain is due to `else_to`.
  void divide(double wait_s, const Parts& active, Bound else_to);

  const ProgramSamples& samples_;
  const ProgramRoles::Rank& rank_;
  bool alone_;
  std::vector<Role> roles_;  // by thread
  TimeSplit split_;
};

Splitter::Splitter(const ProgramSamples& samples, const ProgramRoles::Rank& rank, bool alone)
    : samples_(samples), rank_(rank), alone_(alone), roles_(samples.threads.size(), Role::none) {
  const auto is_timer = [&samples](size_t thread) {
    const DoingSeconds& did = samples.threads[thread].did;
    return did[Doing::asleep] > 0.99 * did.sum();
  };
  for (const size_t thread : rank.threads) {
    if (!is_timer(thread)) roles_[thread] = Role::thread;
  }
  for (const size_t thread : rank.workers) {
    if (samples.threads[thread].main || !is_timer(thread)) roles_[thread] = Role::worker;
  }
  if (rank.thread < roles_.size()) roles_[rank.thread] = Role::main;
}

void Splitter::divide(double wait_s, const Parts& active, Bound else_to) {
  const double sum = sum_of(active);
  // Whoever is active for a third of a wait may have caused all of it: windows are short, and
  // batches are handed over by threads that do nothing else.
  constexpr double kEnough = 0.3;
  const double explained = sum >= kEnough * wait_s ? wait_s : sum;
  if (sum > 0) {
    for (size_t i = 0; i < kBounds; ++i) split_.seconds[i] += explained * active[i] / sum;
  }
  split_[else_to] += wait_s - explained;
}

Splitter::Window Splitter::gather(const SampleWindow& window, double length) const {
  Window sums;
  double workers = 0;
  for (const SampleWindow::Share& share : window.threads) {
    const Role role = roles_[share.thread];
    if (role == Role::none) continue;
    const DoingSeconds did = not_negative(share.did);
    if (role == Role::main) {
      sums.main = did;
      continue;
    }
    Parts active = activity(did);
    // Among ranks a thread at a socket serves the exchange, for which the main one waits.
    if (!alone_ && role == Role::thread) at(active, Bound::network) = 0;
    const bool works = role == Role::worker && samples_.threads[share.thread].main;
    if (works) ++workers;
    for (size_t i = 0; i < kBounds; ++i) {
      sums.all[i] += active[i];
      if (role == Role::thread) sums.threads[i] += active[i];
      if (works) sums.workers[i] += active[i];
    }
  }
  if (workers > 0) sums.workers_busy = std::min(1.0, sum_of(sums.workers) / (workers * length));
  return sums;
}

void Splitter::add(const SampleWindow& window, double length, double part) {
  Window sums = gather(window, length);
  for (double& seconds : sums.main.seconds) seconds *= part;
  for (Parts* parts : {&sums.all, &sums.threads, &sums.workers}) {
    for (double& seconds : *parts) seconds *= part;
  }
  const DoingSeconds& main = sums.main;
  const double gpu = std::clamp(window.gpu_busy.value_or(0), 0.0, 1.0);
  const double computes = main[Doing::on_core] + main[Doing::asleep];
  split_[Bound::main_process] += (1 - gpu) * computes;
  split_[Bound::gpu] += gpu * computes + main[Doing::on_gpu];
  split_[Bound::storage] += main[Doing::in_file] + main[Doing::in_fault];
  split_[Bound::cores] += main[Doing::for_core];
  split_[Bound::unknown] += main[Doing::other];
  const Bound else_to = alone_ ? Bound::unknown : Bound::peers;
  divide(main[Doing::on_pipe] + main[Doing::on_poll] + main[Doing::on_children], sums.all, else_to);
  // Collectives wait on a lock of their process; loaders' processes do not.
  divide(main[Doing::on_lock], alone_ ? sums.all : sums.threads, else_to);
  if (alone_) {
    split_[Bound::network] += main[Doing::on_socket];
    return;
  }
  // Were the others faster, this rank would wait for its workers, as far as these are busy already.
  const double own = main[Doing::on_socket] * sums.workers_busy;
  if (own > 0) divide(own, sums.workers, Bound::peers);
  split_[Bound::peers] += main[Doing::on_socket] - own;
}

TimeSplit Splitter::split() {
  double begin_s = 0;
  for (const SampleWindow& window : samples_.windows) {
    const double length = window.end_s - begin_s;
    const double inside = std::min(window.end_s, rank_.end_s) - std::max(begin_s, rank_.begin_s);
    if (length > 0 && inside > 0) add(window, length, inside / length);
    begin_s = window.end_s;
  }
  return split_;
}

}  // namespace

double TimeSplit::sum() const { return sum_of(seconds); }

double TimeSplit::share(Bound bound) const {
  const double all = sum();
  return all > 0 ? (*this)[bound] / all : 0;
}

Bound TimeSplit::largest() const {
  return static_cast<Bound>(std::ranges::max_element(seconds) - seconds.begin());
}

TimeSplit split_time(const ProgramSamples& samples, const ProgramRoles::Rank& rank, bool alone) {
  return Splitter(samples, rank, alone).split();
}

}  // namespace stoker

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "app/experiment/experiment_options.h"
#include "app/process/stop_signal.h"
#include "app/train/train.h"
#include "app/train/windows/io_window.h"
#include "io/core/system/child_process.h"
#include "io/core/system/standard_streams.h"
#include "io/distributed/tcp_store.h"
#include "io/metrics/clock.h"
#include "io/metrics/io_sessions.h"

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kPoll(20);
// After a failure the other ranks notice by themselves. A rank that does not notice is asked to
// end, and then killed.
constexpr std::chrono::seconds kPatience(10);

std::vector<std::string> words_of(const LaunchArguments& arguments) {
  std::vector<std::string> words{"train", arguments.config};
  words.insert(words.end(), arguments.overrides.begin(), arguments.overrides.end());
  if (!read_experiment(arguments.config, arguments.overrides, {}).distributed) {
    words.emplace_back("distributed={}");
  }
  if (arguments.json) words.emplace_back("--json");
  if (arguments.quiet) words.emplace_back("--quiet");
  return words;
}

// torchrun's words: a rank need not know who started it.
std::vector<std::string> environment_of(int64_t rank, int64_t ranks, uint16_t port) {
  return {fmt::format("RANK={}", rank),
          fmt::format("LOCAL_RANK={}", rank),
          fmt::format("WORLD_SIZE={}", ranks),
          fmt::format("LOCAL_WORLD_SIZE={}", ranks),
          "MASTER_ADDR=127.0.0.1",
          fmt::format("MASTER_PORT={}", port),
          "TORCHELASTIC_USE_AGENT_STORE=True",
          "STOKER_LAUNCH=1"};
}

// Runs all ranks until the last one has ended.
class Launch {
 public:
  Launch(const std::vector<std::string>& words, int64_t ranks, const StopSignal& stop)
      : stop_(stop) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      ProcessStart start = this_program(words, environment_of(rank, ranks, store_.port()),
                                        STDOUT_FILENO, STDERR_FILENO);
      start.blocked = {SIGUSR2};  // which waits until the rank takes it
      children_.push_back(std::make_unique<ChildProcess>(start));
    }
  }
  ExitCode wait() {
    while (look()) std::this_thread::sleep_for(kPoll);
    return code_;
  }

 private:
  // Passes on signals and the time limit after a failure. False: all have ended.
  bool look() {
    if (stop_.requested() && !stopping_) {
      stopping_ = true;
      signal(stop_.number());
    }
    if (IoTrigger::instance().take(false)) signal(SIGUSR2);
    bool running = false;
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      const std::optional<int> ended = children_[rank]->ended();
      running = running || !ended;
      if (ended && *ended != 0 && !failed_) note(rank, *ended);
    }
    if (!failed_ || stopping_ || !running) return running;
    // SIGTERM after kPatience, SIGKILL after twice that and every kPatience from then on.
    const int steps = static_cast<int>((Clock::now() - *failed_) / kPatience);
    if (steps > asked_) signal(++asked_ == 1 ? SIGTERM : SIGKILL);
    return running;
  }
  void note(size_t rank, int code) {
    // Only the first failure counts: later ones are the others' reaction to it.
    failed_ = Clock::now();
    code_ = static_cast<ExitCode>(code);
    if (code <= 128 || code == static_cast<int>(ExitCode::sigint)) return;
    code_ = ExitCode::device;
    write_stderr(
        fmt::format("error: rank {} was ended by a signal ({})\n", rank, strsignal(code - 128)));
  }
  void signal(int number) const {
    for (const auto& child : children_) {
      if (!child->ended()) child->signal(number);
    }
  }

  const StoreServer store_;
  const StopSignal& stop_;
  std::vector<std::unique_ptr<ChildProcess>> children_;
  ExitCode code_ = ExitCode::ok;
  std::optional<TimePoint> failed_;  // the first one
  bool stopping_ = false;
  int asked_ = 0;
};

}  // namespace

ExitCode launch(const LaunchArguments& arguments) {
  const std::vector<std::string> words = words_of(arguments);
  const StopSignal stop;
  take_session_signal();
  return Launch(words, arguments.ranks, stop).wait();
}

}  // namespace stoker

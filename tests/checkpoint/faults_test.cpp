#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

#include "io/checkpoint/read_set.h"
#include "io/checkpoint/set_writer.h"
#include "io/core/parallel.h"
#include "tests/support/checkpoints.h"
#include "tests/support/crash_states.h"
#include "tests/support/file_layers.h"

// Every system call of a run fails once, with every error, or from some call on for ever: a run
// that saves, drains, removes, is started again and goes on.

namespace stoker {
namespace {

namespace fs = std::filesystem;
using Op = FileCall::Op;

const std::string kCommon =
    ", every_steps: 1, keep_last: 1, resume: latest, slots: 1, threads: 1, retry_seconds: 0.001, "
    "hang_seconds: 30}";
const std::string kBurst = "{type: burst_buffer, fast: fast, slow: slow" + kCommon;
const std::string kDirect = "{type: direct, slow: slow, verify: all" + kCommon;
constexpr int64_t kSteps = 4;
constexpr int64_t kRestartAfter = 3;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kEach = 7;  // sanitizers take their time
#else
constexpr size_t kEach = 1;
#endif

struct Outcome {
  int64_t acknowledged = 0;  // the newest step that was reported as saved
  int64_t steps = 0;         // of training that were done
  bool visible = false;      // a failure was reported
  std::string files;         // what is on the tiers
  std::string warnings;
};

// "fast: LOCK latest step-0000000004 slow: ...". Throws where a committed set is damaged.
std::string files_of(const std::string& root) {
  std::string text;
  for (const std::string tier : {"fast", "slow"}) {
    const FileTree tree(root + "/" + tier);
    text += " " + tier + ":";
    for (const std::string& name : tree.list("run")) {
      text += " " + name;
      if (name == "latest") text += "=" + tree.read_text("run/latest", 100);
      if (step_of(name) >= 0) {
        read_set(tree, "run/" + name, read_manifest(tree, "run/" + name), 1, {});
      }
    }
  }
  return text;
}

// From the start of a process to its end: trains up to step `end`.
void run_process(Checkpoints& run, const std::string& options, int64_t end, Outcome& outcome) {
  const auto checkpointer = run.make(options);
  const auto look = [&] {
    const CheckpointStatus status = checkpointer->status();
    outcome.acknowledged = std::max(outcome.acknowledged, status.saved_step.value_or(0));
    outcome.visible = outcome.visible || status.failed > 0 || status.drain_retries > 0 ||
                      status.degraded || !run.warn.empty();
  };
  const std::optional<LoadedState> loaded = checkpointer->load();
  look();
  int64_t step = loaded ? loaded->step() : 0;
  if (loaded && !wrong_with(*loaded).empty()) throw std::logic_error("a wrong state was loaded");
  while (++step <= end) {
    Checkpoints::save(*checkpointer, step);
    checkpointer->flush();  // so that the calls have the same order in every run
    look();
    outcome.steps = std::max(outcome.steps, step);
  }
}

// The whole run. A process that could not start is started again, a few times.
Outcome run_all(const std::string& root, const std::string& options, const Layers& fast,
                const Layers& slow) {
  Outcome outcome;
  for (const int64_t end : {kRestartAfter, kSteps}) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      Checkpoints run(root, fast, slow);
      try {
        run_process(run, options, end, outcome);
        outcome.warnings += run.warnings();
        break;
      } catch (const Error& error) {  // of load(): the run ends and says why
        outcome.visible = true;
        outcome.warnings += run.warnings() + "load: " + error.what() + "\n";
      }
    }
  }
  return outcome;
}

// What is wrong after a run, seen by a process for which nothing fails; empty: nothing.
std::string wrong_after(const std::string& root, const std::string& options, Outcome& outcome) {
  try {
    outcome.files = files_of(root);
    Checkpoints run(root);
    const std::optional<LoadedState> loaded = run.make(options)->load();
    if (outcome.acknowledged > 0 && !loaded) return "nothing was loaded";
    if (!loaded) return {};
    if (const std::string wrong = wrong_with(*loaded); !wrong.empty()) return wrong;
    if (loaded->step() < outcome.acknowledged) {
      return "step " + std::to_string(loaded->step()) + " was loaded, step " +
             std::to_string(outcome.acknowledged) + " was acknowledged";
    }
    return {};
  } catch (const std::exception& error) {
    return std::string("afterwards: ") + error.what();
  }
}

// Ends the program where a case does not end.
class Watchdog {
 public:
  explicit Watchdog(const std::string& what)
      : thread_([this, what] {
          std::unique_lock lock(mutex_);
          if (changed_.wait_for(lock, std::chrono::seconds(60), [&] { return over_; })) return;
          std::cerr << "does not end: " << what << std::endl;
          std::abort();
        }) {}
  ~Watchdog() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::jthread thread_;
};

struct Case {
  std::string tier;
  size_t call;
  int error;
  bool for_ever;
  std::string text() const {
    return "call " + std::to_string(call) + " on tier " + tier +
           (for_ever ? " and all after it fail: " : " fails: ") +
           (error == 0 ? "half done" : strerrorname_np(error));
  }
};

struct CheckpointFaults : testing::Test {
  // Notes what the run does where nothing fails.
  void expect(const std::string& options) {
    options_ = options;
    const crash_detail::Scratch root;
    const auto fast = std::make_shared<FaultLayer>(), slow = std::make_shared<FaultLayer>();
    const auto counter = [](int error) {
      return std::make_shared<FaultLayer>(Fault{.times = 0, .error = error});
    };
    const auto fast_halves = counter(0), slow_halves = counter(0);
    expected_ = run_all(root.path(), options, {fast, fast_halves}, {slow, slow_halves});
    ASSERT_EQ(wrong_after(root.path(), options, expected_), "");
    ASSERT_EQ(expected_.warnings, "");
    ASSERT_FALSE(expected_.visible);
    ASSERT_EQ(expected_.acknowledged, kSteps);
    calls_ = {{"fast", fast->calls()}, {"slow", slow->calls()}};
    halves_ = {{"fast", fast_halves->matching()}, {"slow", slow_halves->matching()}};
  }

  std::vector<Case> cases(const std::vector<int>& errors, bool for_ever) const {
    std::vector<Case> all;
    for (const std::string tier : {"fast", "slow"}) {
      for (const int error : errors) {
        const size_t count = (error == 0 ? halves_ : calls_).at(tier);
        for (size_t i = 0; i < count; i += kEach) all.push_back({tier, i, error, for_ever});
      }
    }
    return all;
  }

  std::string wrong_with_case(const Case& each) const {
    const Watchdog watchdog(each.text());
    const crash_detail::Scratch root;
    const auto fault = std::make_shared<FaultLayer>(
        Fault{.skip = each.call, .times = each.for_ever ? SIZE_MAX : 1, .error = each.error});
    const Layers layers{fault};
    Outcome outcome = run_all(root.path(), options_, each.tier == "fast" ? layers : Layers{},
                              each.tier == "slow" ? layers : Layers{});
    std::string wrong = wrong_after(root.path(), options_, outcome);
    const bool silent = !outcome.visible;
    if (wrong.empty() && fault->struck() == 0) wrong = "the call was not made";
    if (wrong.empty() && !each.for_ever && outcome.steps != kSteps) wrong = "steps are missing";
    if (wrong.empty() && silent && outcome.files != expected_.files) wrong = "nobody was told";
    if (wrong.empty() && (each.error == 0 || each.error == EINTR) && !silent) wrong = "reported";
    if (wrong.empty()) return {};
    return each.text() + ": " + wrong + "\n" + outcome.warnings + outcome.files;
  }

  void check(const std::vector<Case>& cases) const {
    std::mutex mutex;
    std::vector<std::string> wrong;
    parallel_for(2, static_cast<int64_t>(cases.size()), [&](int64_t i) {
      const std::string text = wrong_with_case(cases[static_cast<size_t>(i)]);
      if (text.empty()) return;
      const std::lock_guard lock(mutex);
      wrong.push_back(text);
    });
    std::cout << cases.size() << " cases\n";
    for (size_t i = 0; i < std::min<size_t>(wrong.size(), 10); ++i) ADD_FAILURE() << wrong[i];
    EXPECT_EQ(wrong.size(), 0u);
    EXPECT_GT(cases.size(), 0u);
  }

  std::string options_;
  Outcome expected_;
  std::map<std::string, size_t> calls_, halves_;
};

TEST_F(CheckpointFaults, every_call_of_burst_buffer_may_fail_once) {
  ASSERT_NO_FATAL_FAILURE(expect(kBurst));
  check(cases({EIO, ENOSPC, EDQUOT, EINTR, EROFS, 0}, false));
}

TEST_F(CheckpointFaults, every_call_of_direct_may_fail_once) {
  ASSERT_NO_FATAL_FAILURE(expect(kDirect));
  check(cases({EIO, ENOSPC, EDQUOT, EINTR, EROFS, 0}, false));
}

TEST_F(CheckpointFaults, a_tier_of_burst_buffer_may_fail_for_ever_from_any_call_on) {
  ASSERT_NO_FATAL_FAILURE(expect(kBurst));
  check(cases({EIO, ENOSPC, EROFS}, true));
}

TEST_F(CheckpointFaults, the_tier_of_direct_may_fail_for_ever_from_any_call_on) {
  ASSERT_NO_FATAL_FAILURE(expect(kDirect));
  check(cases({EIO, ENOSPC, EROFS}, true));
}

}  // namespace
}  // namespace stoker

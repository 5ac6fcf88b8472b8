#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

#include "io/checkpoint/restoring/read_set.h"
#include "io/checkpoint/saving/set_writer.h"
#include "io/core/threads.h"
#include "tests/support/checkpoint_run.h"
#include "tests/support/crash_states.h"
#include "tests/support/file_layers.h"
#include "tests/support/short_tests.h"

// Every system call of a run fails once, with every error, or from some call on for ever: a run
// that saves, drains, removes, is started again and goes on.

namespace stoker {
namespace {

namespace fs = std::filesystem;
using Op = FileCall::Op;

const std::string kCommon =
    ", every_steps: 1, keep_last: 1, resume: latest, slots: 1, threads: 1, retry_seconds: 0.001, "
    "hang_seconds: 30}";
const std::string kDrained = "{type: burst_buffer, fast: fast, slow: slow" + kCommon;
const std::string kVerified = "{type: direct, slow: slow, verify: all" + kCommon;
const std::string kOverlap =
    "{type: burst_buffer, fast: fast, slow: slow, snapshot: async" + kCommon;
constexpr int64_t kSteps = 4;
constexpr int64_t kRestartAfter = 3;

struct Outcome {
  int64_t acknowledged = 0;  // the newest step that was reported as saved
  int64_t steps = 0;         // of training that were done
  bool visible = false;      // a failure was reported
  int64_t given_up = 0;      // saves and drains
  std::string files;         // what is on the tiers
  std::string warnings;
};

// " fast: LOCK latest=step-0000000004 step-0000000004 slow: ...". Throws where a committed set is
// damaged, or none is as new as `acknowledged`.
std::string files_of(const std::string& root, int64_t acknowledged) {
  std::string text;
  int64_t newest = 0;
  for (const std::string tier : {"fast", "slow"}) {
    const FileTree tree(root + "/" + tier);
    text += " " + tier + ":";
    for (const std::string& name : tree.list("run")) {
      text += " " + name;
      if (name == "latest") text += "=" + tree.read_text("run/latest", 100);
      if (step_of(name) < 0) continue;
      newest = std::max(newest, step_of(name));
      read_set(tree, "run/" + name, read_manifest(tree, "run/" + name), 1, {});
    }
  }
  if (newest >= acknowledged) return text;
  throw std::logic_error("acknowledged: " + std::to_string(acknowledged) + ", there:" + text);
}

// From the start of a process to its end: trains up to step `end`.
void run_process(Checkpoints& run, const std::string& root, const std::string& options, int64_t end,
                 Outcome& outcome) {
  const auto checkpointer = run.make(options);
  auto look = [&, failed = int64_t{0}]() mutable {
    const CheckpointStatus status = checkpointer->status();
    outcome.given_up += status.failed - std::exchange(failed, status.failed);
    outcome.acknowledged = std::max(outcome.acknowledged, status.saved_step.value_or(0));
    outcome.visible = outcome.visible || status.failed > 0 || status.drain_retries > 0 ||
                      status.degraded || !run.warn.empty();
    outcome.warnings += run.warnings();
    run.warn.clear();
  };
  const std::optional<LoadedState> loaded = checkpointer->load();
  if (loaded && !wrong_with(*loaded).empty()) throw std::logic_error("a wrong state was loaded");
  int64_t step = loaded ? loaded->step() : 0;
  const bool overlap = options == kOverlap;
  // Else one thread works at a time, so that the calls have the same order in every run.
  if (!overlap) checkpointer->flush();
  look();
  while (++step <= end) {
    Checkpoints::save(*checkpointer, step);
    if (!overlap) checkpointer->flush();
    look();
    outcome.steps = std::max(outcome.steps, step);
    if (!overlap) files_of(root, outcome.acknowledged);
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
        run_process(run, root, options, end, outcome);
        break;
      } catch (const DamagedSet&) {
        throw;
      } catch (const Error& error) {  // of load(): the run ends and says why
        outcome.visible = true;
        outcome.warnings += run.warnings() + "load: " + error.what() + "\n";
      }
    }
  }
  return outcome;
}

// What is wrong with a run behind `layer`, and with what it leaves to a process for which nothing
// fails; empty: nothing.
std::string wrong_with_run(const std::string& root, const std::string& options,
                           const std::string& tier, const std::shared_ptr<FileLayer>& layer,
                           Outcome& outcome) {
  try {
    const Layers layers{layer}, none;
    outcome =
        run_all(root, options, tier == "fast" ? layers : none, tier == "slow" ? layers : none);
    outcome.files = files_of(root, outcome.acknowledged);
    Checkpoints run(root);
    const std::optional<LoadedState> loaded = run.make(options)->load();
    if (!loaded) return outcome.acknowledged > 0 ? "nothing was loaded" : "";
    if (const std::string wrong = wrong_with(*loaded); !wrong.empty()) return wrong;
    if (loaded->step() < outcome.acknowledged) return "an older step was loaded";
    return "";
  } catch (const std::exception& error) {
    return error.what();
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

struct Faulty {
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
    for (const std::string tier : {"fast", "slow"}) {
      for (const bool halves : {false, true}) {
        const crash_detail::Scratch root;
        const auto layer =
            std::make_shared<FaultLayer>(Fault{.times = 0, .error = halves ? 0 : EIO});
        ASSERT_EQ(wrong_with_run(root.path(), options, tier, layer, expected_), "");
        (halves ? halves_ : calls_)[tier] = layer->matching();
      }
    }
    ASSERT_FALSE(expected_.visible) << expected_.warnings;
    ASSERT_EQ(expected_.steps, kSteps);
  }

  std::vector<Faulty> cases(const std::vector<int>& errors, bool for_ever) const {
    std::vector<Faulty> all;
    size_t first = 0;
    for (const std::string tier : {"fast", "slow"}) {
      for (const int error : errors) {
        const size_t count = (error == 0 ? halves_ : calls_).at(tier);
        for (size_t i = first++ % stride(25); i < count; i += stride(25)) {
          all.push_back({tier, i, error, for_ever});
        }
      }
    }
    return all;
  }

  std::string wrong_with_case(const Faulty& each) const {
    const Watchdog watchdog(each.text());
    const crash_detail::Scratch root;
    const auto fault = std::make_shared<FaultLayer>(
        Fault{.skip = each.call, .times = each.for_ever ? SIZE_MAX : 1, .error = each.error});
    Outcome outcome;
    std::string wrong = wrong_with_run(root.path(), options_, each.tier, fault, outcome);
    const bool silent = !outcome.visible;
    const bool certain = options_ != kOverlap;
    if (wrong.empty() && certain && fault->struck() == 0) wrong = "the call was not made";
    if (wrong.empty() && !each.for_ever && outcome.steps != kSteps) wrong = "steps are missing";
    if (wrong.empty() && certain && silent && outcome.files != expected_.files)
      wrong = "nobody was told";
    if (wrong.empty() && each.error == EIO && !each.for_ever && outcome.given_up > 0) {
      wrong = "one failure was too much";
    }
    if (wrong.empty() && each.error == EINTR && !silent) wrong = "EINTR is no failure";
    if (wrong.empty()) return {};
    return each.text() + ": " + wrong + "\n" + outcome.warnings + outcome.files;
  }

  void check(const std::vector<Faulty>& cases) const {
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
  ASSERT_NO_FATAL_FAILURE(expect(kDrained));
  check(cases({EIO, ENOSPC, EDQUOT, EINTR, EROFS, 0}, false));
}

TEST_F(CheckpointFaults, every_call_of_direct_may_fail_once) {
  ASSERT_NO_FATAL_FAILURE(expect(kVerified));
  check(cases({EIO, ENOSPC, EDQUOT, EINTR, EROFS, 0}, false));
}

TEST_F(CheckpointFaults, a_tier_of_burst_buffer_may_fail_for_ever_from_any_call_on) {
  ASSERT_NO_FATAL_FAILURE(expect(kDrained));
  check(cases({EIO, ENOSPC, EROFS}, true));
}

TEST_F(CheckpointFaults, the_tier_of_direct_may_fail_for_ever_from_any_call_on) {
  ASSERT_NO_FATAL_FAILURE(expect(kVerified));
  check(cases({EIO, ENOSPC, EROFS}, true));
}

TEST_F(CheckpointFaults, any_call_may_fail_while_saves_and_drains_overlap) {
  ASSERT_NO_FATAL_FAILURE(expect(kOverlap));
  check(cases({EIO, 0}, false));
  check(cases({EIO}, true));
}

// A failed sync drops what it should have made durable, and the next one of that file succeeds:
// what Linux does ("Can applications recover from fsync failures?", ATC 2020).
class LosingLayer final : public FileLayer {
 public:
  LosingLayer(std::string root, size_t skip) : root_(std::move(root)), skip_(skip) {}

  int64_t call(const FileCall& call, const Next& next) override {
    const std::lock_guard lock(mutex_);
    if (call.op == Op::sync || call.op == Op::sync_directory) {
      const bool fails = syncs_++ == skip_;
      if (fails) {
        site_ = site(call);
        call.op == Op::sync ? lose_bytes(call.path) : lose_entries(call.path);
      }
      if (call.op == Op::sync_directory) {
        std::erase_if(unsynced_, [&](const FileCall& each) { return in(each, call.path); });
      }
      return fails ? -EIO : next(call);
    }
    const int64_t result = next(call);
    for (const Op op : {Op::create, Op::make_directory, Op::rename, Op::replace}) {
      if (result >= 0 && call.op == op) unsynced_.push_back(call);
    }
    return result;
  }

  const std::string& lost() const { return site_; }

 private:
  static std::string site(const FileCall& call) {
    if (call.path.ends_with("MANIFEST.json")) return "manifest";
    if (call.path.ends_with(".safetensors")) return "data";
    if (call.path.find(".tmp-step") != std::string::npos) return "set";
    return call.path == "run" ? "parent" : "other";
  }
  static bool in(const FileCall& entry, const std::string& directory) {
    const fs::path path = entry.to.empty() ? entry.path : entry.to;
    return path.parent_path() == fs::path(directory);
  }
  std::string full(const std::string& path) const { return root_ + "/" + path; }

  void lose_bytes(const std::string& path) const {
    const uint64_t bytes = fs::file_size(full(path));
    fs::resize_file(full(path), 0);
    fs::resize_file(full(path), bytes);
  }
  void lose_entries(const std::string& directory) const {
    for (auto entry = unsynced_.rbegin(); entry != unsynced_.rend(); ++entry) {
      if (!in(*entry, directory)) continue;
      std::error_code gone;
      if (entry->to.empty()) {
        fs::remove_all(full(entry->path), gone);
      } else {
        fs::rename(full(entry->to), full(entry->path), gone);
      }
    }
  }

  const std::string root_;
  const size_t skip_;
  std::mutex mutex_;
  std::vector<FileCall> unsynced_;
  size_t syncs_ = 0;
  std::string site_;
};

TEST_F(CheckpointFaults, a_sync_that_fails_and_drops_is_never_believed) {
  // Without reading back, which would notice.
  const std::string options = "{type: burst_buffer, fast: fast, slow: slow, verify: none" + kCommon;
  std::set<std::string> sites;
  for (const std::string tier : {"fast", "slow"}) {
    for (size_t sync = 0;; ++sync) {
      const crash_detail::Scratch root;
      const auto layer = std::make_shared<LosingLayer>(root.path() + "/" + tier, sync);
      Outcome outcome;
      const std::string wrong = wrong_with_run(root.path(), options, tier, layer, outcome);
      SCOPED_TRACE("sync " + std::to_string(sync) + " (" + layer->lost() + ") on tier " + tier);
      EXPECT_EQ(wrong, "") << outcome.warnings << outcome.files;
      EXPECT_EQ(outcome.steps, kSteps);
      EXPECT_TRUE(outcome.visible || outcome.acknowledged == kSteps);
      if (layer->lost().empty()) break;
      sites.insert(tier + " " + layer->lost());
    }
  }
  for (const std::string tier : {"fast", "slow"}) {
    for (const std::string site : {"data", "manifest", "set", "parent"}) {
      EXPECT_TRUE(sites.contains(tier + " " + site)) << site;
    }
  }
}

// Else the history that was not gone on with would be the newest for the next process.
TEST(CheckpointRestart, a_tier_that_was_opened_by_half_is_looked_at_again) {
  const std::string options = kDrained.substr(1, kDrained.size() - 2) + ", keep_every: 1";
  CheckpointRun run;
  run.start(options);
  for (int64_t step = 1; step <= 3; ++step) run.save(step);
  ASSERT_TRUE(run->flush());
  run.stop();
  fs::remove_all(run.set("fast", 3));
  constexpr size_t kAllOfLoad = 6;
  run.slow = {std::make_shared<FaultLayer>(
      Fault{.op = Op::list, .path = "run", .times = kAllOfLoad, .error = EIO})};
  EXPECT_EQ(run.resume(options), 2);
  run.save(4);
  while (!run->flush()) std::this_thread::yield();
  EXPECT_EQ(run.steps("slow"), (std::vector<int64_t>{1, 2, 4}));
}

}  // namespace
}  // namespace stoker

#include "tests/support/crash_states.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <iterator>

#include "io/checkpoint/restoring/read_set.h"
#include "io/checkpoint/saving/set_writer.h"
#include "tests/support/checkpoints.h"
#include "tests/support/gates.h"
#include "tests/support/short_tests.h"
#include "tests/support/temporary_directory.h"

// A power loss at any time: a run is recorded, every state in which a crash may leave its two tiers
// is made, and the next process is started on it. "saved 3" and "drained 3" in the log are what the
// Checkpointer had acknowledged.

namespace stoker {
namespace {

namespace fs = std::filesystem;

const std::string kOptions =
    "every_steps: 1, keep_last: 2, shards: 2, resume: latest, slots: 1, threads: 1}";
const std::string kThroughFast = "{type: burst_buffer, fast: fast, slow: slow, " + kOptions;
const std::string kStraight = "{type: direct, slow: slow, " + kOptions;
// Goes on with a run of burst_buffer, and drains nothing.
const std::string kOther = "{type: direct, fast: fast, slow: slow, " + kOptions;

// Combinations at a point of the log, and 25 points have as many.
size_t many() { return 400 / stride(25); }

// What a process does between its start and its end.
struct Work {
  std::string options;
  int64_t saves = 0;
  bool overlap = false;  // the drain runs while the next save does
  bool latest = true;    // can be written
};

// One process on the tiers below `root`, recorded.
void run_recorded(const std::string& root, const Work& work, const std::shared_ptr<CallLog>& log) {
  const bool burst = work.options == kThroughFast;
  const auto gate = std::make_shared<GateLayer>(std::set{FileCall::Op::stat});
  const auto latest = std::make_shared<FaultLayer>(
      Fault{.path = ".tmp-latest", .times = work.latest ? 0 : SIZE_MAX, .error = EIO});
  Checkpoints run(root, {std::make_shared<RecordingLayer>(log, "fast"), latest},
                  {std::make_shared<RecordingLayer>(log, "slow"), gate, latest});
  const auto checkpointer = run.make(work.options);
  const std::optional<LoadedState> loaded = checkpointer->load();
  const int64_t begin = loaded ? loaded->step() : 0;
  const auto acknowledge = [&] {
    const CheckpointStatus status = checkpointer->status();
    if (status.saved_step) log->mark("saved " + std::to_string(*status.saved_step));
    if (status.durable_step) log->mark("drained " + std::to_string(*status.durable_step));
  };
  acknowledge();
  for (int64_t step = begin + 1; step <= begin + work.saves; ++step) {
    // So that every state between a save and its drain is seen.
    if (burst && !work.overlap) gate->close();
    Checkpoints::save(*checkpointer, step);
    EXPECT_EQ(checkpointer->status().saved_step, step) << run.warnings();
    acknowledge();
    gate->open();
    if (!work.overlap) checkpointer->flush();
    acknowledge();
  }
  EXPECT_TRUE(checkpointer->flush()) << run.warnings();
  acknowledge();
  EXPECT_EQ(run.warn.empty(), work.latest) << run.warnings();
}

// The newest step of which `kind` was promised; 0: none.
int64_t promised(const CrashState& state, const std::string& kind) {
  int64_t newest = 0;
  for (const std::string& mark : state.promised) {
    if (mark.starts_with(kind + " ")) {
      newest = std::max<int64_t>(newest, std::stoll(mark.substr(kind.size())));
    }
  }
  return newest;
}

// The steps that have a committed name; every one of them must be intact.
std::vector<int64_t> intact_sets(const std::string& root) {
  const FileTree tree(root);
  std::vector<int64_t> steps;
  for (const std::string& name : tree.list("run")) {
    const int64_t step = step_of(name);
    if (step < 0) continue;
    steps.push_back(step);
    read_set(tree, "run/" + name, read_manifest(tree, "run/" + name), 1, {});
  }
  return steps;
}

// What must be true of every state, whoever looks at it first.
void check_disk(const CrashState& state) {
  for (const std::string tier : {"fast", "slow"}) {
    const FileTree tree(state.directory + "/" + tier);
    const std::vector<int64_t> steps = intact_sets(tree.root());
    if (tree.exists("run/latest")) {
      const std::string latest = tree.read_text("run/latest", 1000);
      EXPECT_TRUE(latest.ends_with('\n') && step_of(latest.substr(0, latest.size() - 1)) > 0);
    }
    const int64_t drained = promised(state, "drained");
    if (tier == "slow" && drained > 0) {
      EXPECT_TRUE(!steps.empty() && steps.back() >= drained) << "the slow tier alone is not enough";
    }
  }
}

// Starts a process on a state.
void check_restart(const CrashState& state, const std::string& options) {
  int64_t step = 0;
  Checkpoints run(state.directory);
  {
    const auto checkpointer = run.make(options);
    if (const std::optional<LoadedState> loaded = checkpointer->load()) {
      step = loaded->step();
      EXPECT_EQ(wrong_with(*loaded), "");
    }
    EXPECT_TRUE(checkpointer->flush());
    if (step > 0 && options == kThroughFast) {
      EXPECT_EQ(checkpointer->status().durable_step, step) << "the drain was not gone on with";
    }
  }
  EXPECT_GE(step, std::max(promised(state, "saved"), promised(state, "drained")));
  EXPECT_TRUE(run.warn.empty()) << run.warnings();
  for (const std::string tier : {"fast", "slow"}) {
    for (const std::string& name : FileTree(state.directory + "/" + tier).list("run")) {
      EXPECT_FALSE(is_garbage(name)) << name << " was left on " << tier;
    }
  }
}

void check_state(const CrashState& state, const std::string& options) {
  try {
    check_disk(state);
    check_restart(state, options);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

// The calls that make a directory's contents, durable.
void add_contents(const std::string& root, const std::string& path,
                  std::vector<RecordedCall>& calls) {
  using Op = FileCall::Op;
  for (const std::string& name : FileTree(root).list(path)) {
    const std::string below = path.empty() ? name : path + "/" + name;
    const bool directory = fs::is_directory(root + "/" + below);
    calls.push_back({.op = directory ? Op::make_directory : Op::create, .path = below});
    calls.push_back({.op = Op::sync_directory, .path = path});
    if (directory) {
      add_contents(root, below, calls);
      continue;
    }
    std::ifstream file(root + "/" + below, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    const uint64_t size = bytes.size();
    if (size == 0) continue;
    calls.push_back({.op = Op::write, .path = below, .bytes = size, .data = std::move(bytes)});
    calls.push_back({.op = Op::sync, .path = below});
  }
}

// Prints the first bad state, and looks at no other.
class Checker {
 public:
  Checker(const std::vector<RecordedCall>& calls, std::string options)
      : calls_(calls), options_(std::move(options)) {}
  CrashCount check(const CrashOptions& crash) {
    return for_each_crash_state(
        calls_, [this](const CrashState& state) { check(state); }, crash);
  }

 private:
  void check(const CrashState& state) {
    if (number_++ % stride(45) != 0 || testing::Test::HasFailure()) return;
    // The drain is slow: it yields to everybody.
    constexpr size_t kOneIn = 8;
    const bool other = options_ == kThroughFast && number_ % kOneIn != 0;
    check_state(state, other ? kOther : options_);
    if (!testing::Test::HasFailure()) return;
    std::cout << "after " << state.calls << " calls; "
              << (state.lost.empty() ? "nothing lost" : state.lost) << "\n";
    for (size_t i = state.calls < 20 ? 0 : state.calls - 20; i < state.calls; ++i) {
      const RecordedCall& call = calls_[i];
      std::cout << "  " << (call.op ? to_string(*call.op) : "--") << " " << call.path << " "
                << call.to << "\n";
    }
  }
  const std::vector<RecordedCall>& calls_;
  const std::string options_;
  size_t number_ = 0;
};

std::vector<RecordedCall> record(const Work& work) {
  const auto log = std::make_shared<CallLog>();
  const TemporaryDirectory root;
  run_recorded(root.path(), work, log);
  return log->calls();
}

void say(const std::string& what, const CrashCount& count) {
  std::cout << what << ": " << count.distinct << " distinct states\n";
  testing::Test::RecordProperty("distinct_states", std::to_string(count.distinct));
}

TEST(CheckpointCrashes, no_power_loss_takes_what_burst_buffer_acknowledged) {
  const std::vector<RecordedCall> calls = record({kThroughFast, 6});
  const CrashCount count = Checker(calls, kThroughFast).check({.combinations = many()});
  say("burst_buffer", count);
  EXPECT_GE(count.distinct, many() * 25);
}

TEST(CheckpointCrashes, no_power_loss_during_a_save_beside_a_drain_takes_anything) {
  const std::vector<RecordedCall> calls = record({kThroughFast, 4, true});
  const CrashCount count = Checker(calls, kThroughFast).check({.combinations = 4});
  say("burst_buffer, overlapped", count);
  EXPECT_GE(count.distinct, 500u);
}

TEST(CheckpointCrashes, no_power_loss_takes_what_direct_acknowledged) {
  const std::vector<RecordedCall> calls = record({kStraight, 4});
  const CrashCount count = Checker(calls, kStraight).check({.combinations = 16});
  say("direct", count);
  EXPECT_GE(count.distinct, 500u);
}

// Its sync would hide that another one is missing.
TEST(CheckpointCrashes, nothing_that_was_acknowledged_hangs_on_latest) {
  const std::vector<RecordedCall> burst = record({kThroughFast, 2, false, false});
  say("burst_buffer without latest", Checker(burst, kThroughFast).check({.combinations = 4}));
  const std::vector<RecordedCall> direct = record({kStraight, 2, false, false});
  const CrashCount count = Checker(direct, kStraight).check({.combinations = 4});
  EXPECT_GE(count.distinct, 100u);
}

// Another process on what lies below `root`, behind `before`; then every crash during its life.
size_t restart_and_crash(const std::string& root, const std::vector<RecordedCall>& before) {
  const auto log = std::make_shared<CallLog>();
  for (const RecordedCall& call : before) log->add(call);
  run_recorded(root, {kThroughFast, 1}, log);
  const CrashOptions options{.combinations = 2, .first = before.size()};
  return Checker(log->calls(), kThroughFast).check(options).distinct;
}

TEST(CheckpointCrashes, a_run_that_goes_on_after_a_power_loss_survives_the_next) {
  const size_t each = 701 * stride(1);
  const std::vector<RecordedCall> calls = record({kThroughFast, 4});
  size_t number = 0;
  CrashCount count;
  for_each_crash_state(calls, [&](const CrashState& state) {
    if (number++ % each != 0 || testing::Test::HasFailure()) return;
    std::vector<RecordedCall> before;
    add_contents(state.directory, "", before);
    for (const std::string& mark : state.promised) before.push_back({.op = {}, .path = mark});
    count.distinct += restart_and_crash(state.directory, before);
  });
  say("second generation", count);
  EXPECT_GE(count.distinct, 500 / stride(1));
}

// A killed process leaves names that were never synced, and the next one builds on them.
TEST(CheckpointCrashes, a_run_that_goes_on_after_a_kill_survives_a_power_loss) {
  const std::vector<RecordedCall> calls = record({kThroughFast, 3});
  CrashModel model;
  CrashCount count;
  size_t renames = 0;
  for (size_t i = 0; i < calls.size() && !testing::Test::HasFailure(); ++i) {
    model.apply(calls[i]);
    if (calls[i].op != FileCall::Op::rename || renames++ % stride(1) != 0) continue;
    const TemporaryDirectory root;
    const std::string disk = root / "disk";
    crash_detail::write_state(disk, model.state(std::vector<size_t>(model.outcomes().size(), 1)));
    const auto end = calls.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    count.distinct += restart_and_crash(disk, {calls.begin(), end});
  }
  say("after a kill", count);
  EXPECT_GE(count.distinct, 500 / stride(1));
}

// Else a restart would take a history that was given up.
TEST(CheckpointCrashes, a_superseded_set_stays_aside) {
  const TemporaryDirectory root;
  const auto log = std::make_shared<CallLog>();
  run_recorded(root.path(), {kStraight, 2}, log);
  const size_t first = log->calls().size();
  std::string options = kStraight;
  options.replace(options.find("latest"), 6, root / "slow/run/" + set_name(1));
  Checkpoints run(root.path(), {}, {std::make_shared<RecordingLayer>(log, "slow")});
  const auto checkpointer = run.make(options);
  EXPECT_EQ(checkpointer->load()->step(), 1);
  log->mark("begun at 1");
  const auto check = [](const CrashState& state) {
    if (state.promised.back() != "begun at 1") return;
    EXPECT_EQ(intact_sets(state.directory + "/slow"), std::vector<int64_t>{1}) << state.lost;
  };
  EXPECT_GT(for_each_crash_state(log->calls(), check, {.first = first}).distinct, 1u);
}

TEST(CheckpointCrashes, a_step_that_is_saved_again_is_there_as_it_was_or_as_it_is) {
  const TemporaryDirectory root;
  const auto log = std::make_shared<CallLog>();
  Checkpoints run(root.path(), {}, {std::make_shared<RecordingLayer>(log, "slow")});
  {
    const auto checkpointer = run.make(kStraight);
    EXPECT_FALSE(checkpointer->load().has_value());
    Checkpoints::save(*checkpointer, 1);
    log->mark("saved 1");
    Checkpoints::save_again(*checkpointer, 1);
    EXPECT_TRUE(checkpointer->flush());
    log->mark("again");
  }
  size_t second = 0;
  const auto check = [&](const CrashState& state) {
    check_state(state, kStraight);
    if (promised(state, "saved") == 0) return;
    const FileTree tree(state.directory + "/slow");
    const bool is_second = read_manifest(tree, "run/" + set_name(1)).training.contains("again");
    second += is_second;
    EXPECT_TRUE(is_second || state.promised.back() != "again") << state.lost;
  };
  const CrashCount count = for_each_crash_state(log->calls(), check, {.combinations = many()});
  say("again", count);
  EXPECT_GT(second, 0u);
  EXPECT_LT(second, count.distinct);
}

// Nothing is promised then, but for the checksums.
TEST(CheckpointCrashes, without_syncs_a_power_loss_never_makes_a_wrong_state) {
  const std::string options = kStraight.substr(0, kStraight.size() - 1) + ", durability: none}";
  const std::vector<RecordedCall> calls = record({options, 3});
  size_t intact = 0, none = 0;
  const auto check = [&](const CrashState& state) {
    Checkpoints run(state.directory);
    try {
      const std::optional<LoadedState> loaded = run.make(options)->load();
      if (loaded) {
        EXPECT_EQ(wrong_with(*loaded), "") << state.lost;
      }
      ++(loaded ? intact : none);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::storage) << error.what();
      ++none;
    }
  };
  say("without syncs",
      for_each_crash_state(calls, check, {.combinations = 200, .first = calls.size()}));
  EXPECT_GT(intact, 0u);
  EXPECT_GT(none, 0u);
}

}  // namespace
}  // namespace stoker

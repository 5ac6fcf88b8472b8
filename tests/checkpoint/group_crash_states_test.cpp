#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <thread>

#include "io/checkpoint/saving/set_writer.h"
#include "tests/support/checkpoints.h"
#include "tests/support/crash_states.h"
#include "tests/support/short_tests.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/thread_group.h"

// A power loss that takes two ranks at any time, with their own fast tiers and the slow one that
// they share: every state of the three is made, and one, two or three ranks are started on it.

namespace stoker {
namespace {

const std::string kGroupOptions =
    "every_steps: 1, keep_last: 2, resume: latest, slots: 1, threads: 1, retry_seconds: 0.001}";
const std::string kGroupBurst = "{type: burst_buffer, fast: fast, slow: slow, " + kGroupOptions;
// Drains nothing, which is quick.
const std::string kGroupOther = "{type: direct, fast: fast, slow: slow, " + kGroupOptions;

// Runs `work` for each rank, on a thread of its own.
void as_ranks(size_t ranks, const std::function<void(RankGroup&, size_t)>& work) {
  ThreadGroup group(static_cast<int64_t>(ranks));
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(group.member(rank), rank);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
        group.lose(rank);
      }
    });
  }
}

std::string node(size_t rank) { return "node" + std::to_string(rank); }

std::vector<RecordedCall> record_two_ranks(const std::string& options, int64_t saves) {
  const TemporaryDirectory root;
  const auto log = std::make_shared<CallLog>();
  as_ranks(2, [&](RankGroup& group, size_t rank) {
    Checkpoints run(root.path(), {std::make_shared<RecordingLayer>(log, node(rank))},
                    {std::make_shared<RecordingLayer>(log, "slow")}, node(rank));
    const auto checkpointer = run.make(options, group);
    checkpointer->load();
    for (int64_t step = 1; step <= saves; ++step) {
      Checkpoints::save(*checkpointer, step);
      EXPECT_EQ(checkpointer->status().saved_step, step) << run.warnings();
      // Whichever rank says so first: the user may have read it.
      log->mark("saved " + std::to_string(step));
      // Every second drain runs beside the next save.
      if (step % 2 == 0) {
        EXPECT_TRUE(checkpointer->flush()) << run.warnings();
      }
      const CheckpointStatus status = checkpointer->status();
      if (status.durable_step) log->mark("drained " + std::to_string(*status.durable_step));
    }
    EXPECT_TRUE(checkpointer->flush()) << run.warnings();
  });
  return log->calls();
}

int64_t newest_promise(const CrashState& state, const std::string& kind) {
  int64_t newest = 0;
  for (const std::string& mark : state.promised) {
    if (mark.starts_with(kind))
      newest = std::max<int64_t>(newest, std::stoll(mark.substr(kind.size())));
  }
  return newest;
}

// The step from which all of them go on; 0: from the start.
int64_t go_on(const CrashState& state, size_t ranks, const std::string& options) {
  std::vector<int64_t> steps(ranks, 0);
  as_ranks(ranks, [&](RankGroup& group, size_t rank) {
    Checkpoints run(state.directory, {}, {}, node(rank % 2));
    const auto checkpointer = run.make(options, group);
    if (const std::optional<LoadedState> loaded = checkpointer->load()) {
      steps[rank] = loaded->step();
      EXPECT_EQ(wrong_with(*loaded), "") << run.warnings();
    }
    EXPECT_TRUE(checkpointer->flush()) << run.warnings();
  });
  for (const int64_t step : steps) EXPECT_EQ(step, steps[0]);
  return steps[0];
}

void check(const CrashState& state, size_t number) {
  // One process sees one node: what the other one's fast tier had is lost to it.
  const size_t ranks = number % 8 == 7 ? 3 : number % 4 == 3 ? 1 : 2;
  const int64_t saved = newest_promise(state, "saved "),
                drained = newest_promise(state, "drained ");
  const int64_t step = go_on(state, ranks, number % 16 == 0 ? kGroupBurst : kGroupOther);
  EXPECT_GE(step, ranks == 1 ? drained : std::max(saved, drained)) << ranks << " ranks";
  for (const std::string directory : {"node0/run/rank-0", "node1/run/rank-1", "slow/run"}) {
    if (ranks == 1 && directory.starts_with("node1")) continue;
    for (const std::string& name : FileTree(state.directory).list(directory)) {
      EXPECT_FALSE(is_garbage(name)) << directory << "/" << name;
    }
  }
}

size_t check_all(const std::vector<RecordedCall>& calls, size_t combinations) {
  size_t number = 0;
  const auto each = [&](const CrashState& state) {
    if (number++ % stride(25) != 0 || testing::Test::HasFailure()) return;
    check(state, number / stride(25));
    if (!testing::Test::HasFailure()) return;
    std::cout << "after " << state.calls << " calls; lost: " << state.lost << "\n";
    for (size_t i = state.calls < 30 ? 0 : state.calls - 30; i < state.calls; ++i) {
      const RecordedCall& call = calls[i];
      std::cout << "  " << (call.op ? to_string(*call.op) : "--") << " " << call.path << " "
                << call.to << "\n";
    }
  };
  return for_each_crash_state(calls, each, {.combinations = combinations}).distinct;
}

TEST(GroupCrashes, no_power_loss_takes_what_two_ranks_acknowledged) {
  const size_t distinct = check_all(record_two_ranks(kGroupBurst, 3), 8);
  std::cout << distinct << " distinct states\n";
  EXPECT_GE(distinct, 500u);
}

TEST(GroupCrashes, nor_what_they_wrote_to_the_tier_that_they_share) {
  const size_t distinct = check_all(record_two_ranks(kGroupOther, 3), 4);
  std::cout << distinct << " distinct states\n";
  EXPECT_GE(distinct, 200u);
}

}  // namespace
}  // namespace stoker

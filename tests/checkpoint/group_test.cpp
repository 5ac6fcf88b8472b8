#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <thread>

#include "tests/support/checkpoint_run.h"
#include "tests/support/thread_group.h"

// Sets that several processes write together: each process is a thread here, with a fast tier of
// its own or one for all.

namespace stoker {
namespace {

namespace fs = std::filesystem;

const std::string kShards = ", shards: 1, threads: 1, hang_seconds: 5";

// The ranks of a run on tiers below one directory, started again and again.
class GroupRun {
 public:
  // nodes: how many fast tiers there are; rank r is on node r % nodes.
  explicit GroupRun(size_t nodes) : nodes_(nodes) {}

  // What the layers of a rank's fast tier, and of its way to the slow one, are in the next start().
  std::map<size_t, Layers> fast, slow;

  // A new life of the run, with so many ranks; each does `work`. What load() gave is checked.
  // Returns the step from which all of them began; -1: from the start.
  int64_t start(size_t ranks, const std::string& options,
                const std::function<void(Checkpointer&, size_t rank, int64_t begin)>& work = {}) {
    ThreadGroup group(static_cast<int64_t>(ranks));
    std::vector<int64_t> begins(ranks, -2);
    logs_.assign(ranks, "");
    statuses_.assign(ranks, {});
    for (size_t rank = 0; rank < ranks; ++rank) {  // not by the threads
      fast.try_emplace(rank);
      slow.try_emplace(rank);
    }
    {
      std::vector<std::jthread> threads;
      for (size_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
          try {
            live(group.member(rank), rank, options, work, begins[rank]);
          } catch (const std::exception& error) {
            logs_[rank] += std::string("ended by: ") + error.what();
            group.lose(rank);
          }
        });
      }
    }
    for (size_t rank = 1; rank < ranks; ++rank) EXPECT_EQ(begins[rank], begins[0]) << logs();
    return begins[0];
  }
  std::string logs() const {
    std::string text;
    for (size_t rank = 0; rank < logs_.size(); ++rank) {
      text += "rank " + std::to_string(rank) + ":\n" + logs_[rank] + "\n";
    }
    return text;
  }
  const CheckpointStatus& status(size_t rank = 0) const { return statuses_[rank]; }
  std::string fast_path(size_t rank) const { return root_.path() + "/" + node_of(rank); }
  std::string slow_path() const { return root_.path() + "/slow"; }
  // Whole, with every byte right.
  bool whole_on_slow(int64_t step) const {
    try {
      const LoadedState state(FileTree(slow_path()), "run/" + set_name(step), 1);
      return wrong_with(state).empty();
    } catch (const Error&) {
      return false;
    }
  }
  static void save(Checkpointer& checkpointer, int64_t step) {
    Checkpoints::save(checkpointer, step);
  }

 private:
  std::string node_of(size_t rank) const { return "node" + std::to_string(rank % nodes_); }
  void live(RankGroup& group, size_t rank, const std::string& options,
            const std::function<void(Checkpointer&, size_t, int64_t)>& work, int64_t& begin) {
    Checkpoints run(root_.path(), fast.at(rank), slow.at(rank), node_of(rank));
    begin = -1;
    const auto keep_log = [&] {
      for (const auto* lines : {&run.info, &run.warn}) {
        for (const std::string& line : *lines) logs_[rank] += line + "\n";
      }
    };
    try {
      const auto checkpointer = run.make("{" + options + kShards + "}", group);
      if (const std::optional<LoadedState> loaded = checkpointer->load()) {
        EXPECT_EQ(wrong_with(*loaded), "") << "step " << loaded->step();
        begin = loaded->step();
      }
      if (work) work(*checkpointer, rank, begin);
      statuses_[rank] = checkpointer->status();
    } catch (...) {
      keep_log();
      throw;
    }
    keep_log();
  }

  const TemporaryDirectory root_;
  const size_t nodes_;
  std::vector<std::string> logs_;
  std::vector<CheckpointStatus> statuses_;
};

std::function<void(Checkpointer&, size_t, int64_t)> saves(std::vector<int64_t> steps,
                                                          bool flush = true) {
  return [=](Checkpointer& checkpointer, size_t, int64_t) {
    for (const int64_t step : steps) GroupRun::save(checkpointer, step);
    if (flush) {
      EXPECT_TRUE(checkpointer.flush());
    }
  };
}

struct GroupShape {
  size_t ranks;
  size_t nodes;
  std::string options;
};

class Group : public testing::TestWithParam<GroupShape> {};

TEST_P(Group, writes_sets_that_any_number_of_processes_goes_on_from) {
  for (const size_t next : {1, 2, 3, 5}) {
    GroupRun run(GetParam().nodes);
    EXPECT_EQ(run.start(GetParam().ranks, GetParam().options, saves({1, 2, 3})), -1);
    for (size_t rank = 0; rank < GetParam().ranks; ++rank) {
      EXPECT_EQ(run.status(rank).saved, 3) << run.logs();
      EXPECT_EQ(run.status(rank).durable_step, 3) << run.logs();
    }
    for (const int64_t step : {1, 2, 3}) EXPECT_TRUE(run.whole_on_slow(step)) << step;
    EXPECT_EQ(run.start(next, GetParam().options + kLatest, saves({4})), 3) << run.logs();
    EXPECT_TRUE(run.whole_on_slow(4)) << run.logs();
    EXPECT_EQ(run.start(GetParam().ranks, GetParam().options + kLatest), 4) << run.logs();
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, Group,
                         testing::Values(GroupShape{2, 1, kBurst}, GroupShape{2, 2, kBurst},
                                         GroupShape{4, 2, kBurst}, GroupShape{3, 1, kDirect},
                                         GroupShape{2, 2, kBurst + ", verify: all"},
                                         GroupShape{2, 1, kDirect + ", layout: tf_saver"}),
                         [](const auto& info) {
                           std::string name = std::to_string(info.param.ranks) + "_ranks_" +
                                              std::to_string(info.index);
                           return name;
                         });

TEST_P(Group, replaces_the_set_of_a_step_that_is_saved_again) {
  GroupRun run(GetParam().nodes);
  run.start(GetParam().ranks, GetParam().options, [](Checkpointer& checkpointer, size_t, int64_t) {
    for (const int64_t step : {5, 6}) GroupRun::save(checkpointer, step);
    Checkpoints::save_again(checkpointer, 5);
    EXPECT_TRUE(checkpointer.flush());
    EXPECT_EQ(checkpointer.status().saved, 3);
  });
  EXPECT_TRUE(run.whole_on_slow(5)) << run.logs();
  const LoadedState state(FileTree(run.slow_path()), "run/" + set_name(5), 1);
  EXPECT_TRUE(state.training().contains("again")) << run.logs();
}

// A rank that had left the step out offers it again at the end, and so do the others.
TEST(GroupSaves, a_step_that_a_rank_left_out_is_saved_by_all_at_the_end) {
  GroupRun run(1);
  run.start(2, kDirect, [](Checkpointer& checkpointer, size_t rank, int64_t) {
    const auto begin = [&](const CheckpointOffer& offer, bool fails) {
      try {
        checkpointer.save(offer, [&] {
          if (fails) throw std::bad_alloc();
          return small_state(offer.step);
        });
      } catch (const std::bad_alloc&) {
      }
      checkpointer.finish_copy();
    };
    begin({.step = 3}, rank == 1);
    begin({.step = 3, .last = true}, false);
    EXPECT_TRUE(checkpointer.flush());
  });
  EXPECT_TRUE(run.whole_on_slow(3)) << run.logs();
}

// What lies on the fast tiers alone is enough where all of it is there, whoever sees it now.
TEST(GroupRestore, from_fast_tiers_alone_by_other_numbers_of_ranks) {
  for (const size_t next : {1, 2, 3}) {
    GroupRun run(1);
    run.start(2, kBurst, saves({1, 2}));
    fs::remove_all(run.slow_path());
    EXPECT_EQ(run.start(next, kBurst + kLatest, saves({3})), 2) << run.logs();
    for (const int64_t step : {1, 2, 3}) EXPECT_TRUE(run.whole_on_slow(step)) << run.logs();
  }
}

TEST(GroupRestore, after_a_node_was_lost_from_what_the_slow_tier_has) {
  GroupRun run(2);
  run.start(2, kBurst, saves({1, 2}));
  fs::remove_all(run.fast_path(1));
  EXPECT_EQ(run.start(2, kBurst + kLatest, saves({3})), 2) << run.logs();
  EXPECT_TRUE(run.whole_on_slow(3));
  EXPECT_EQ(run.status().failed, 0) << run.logs();
}

TEST(GroupRestore, takes_the_step_before_where_parts_of_the_newest_are_gone) {
  GroupRun run(2);
  run.start(2, kBurst, saves({1, 2}));
  fs::remove_all(run.fast_path(1));
  fs::remove_all(run.slow_path() + "/run/" + set_name(2));
  EXPECT_EQ(run.start(2, kBurst + kLatest, saves({2, 3})), 1) << run.logs();
  EXPECT_NE(run.logs().find("state-00002-of-00002.safetensors is on no tier"), std::string::npos)
      << run.logs();
  for (const int64_t step : {1, 2, 3}) EXPECT_TRUE(run.whole_on_slow(step)) << run.logs();
}

// A byte that changed on one rank's tier: its file comes from the slow one, and all go on.
TEST(GroupRestore, a_damaged_part_is_set_aside_and_read_elsewhere) {
  GroupRun run(2);
  run.start(2, kBurst, saves({1, 2}));
  const std::string part = run.fast_path(1) + "/run/rank-1/" + set_name(2);
  const std::string file = part + "/state-00002-of-00002.safetensors";
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_EQ(run.start(2, kBurst + kLatest), 2) << run.logs();
  EXPECT_FALSE(fs::exists(part)) << run.logs();
  EXPECT_TRUE(fs::exists(run.fast_path(1) + "/run/rank-1/damaged-" + set_name(2)));
}

// The first rank alone renames and removes on the tier that all share.
TEST(GroupRestore, a_damaged_set_on_the_shared_tier_is_set_aside_once) {
  GroupRun run(1);
  run.start(3, kDirect, saves({1, 2}));
  const std::string file =
      run.slow_path() + "/run/" + set_name(2) + "/state-00002-of-00003.safetensors";
  std::string bytes;
  {
    const FileTree tree(run.slow_path());
    const TreeFile source =
        tree.open("run/" + set_name(2) + "/state-00002-of-00003.safetensors", FileAccess::buffered);
    std::vector<uint8_t> all(source.size());
    source.read_at(0, all);
    all.back() ^= 1;
    fs::remove(file);
    tree.create("run/" + set_name(2) + "/state-00002-of-00003.safetensors", FileAccess::buffered)
        .write_at(0, all);
  }
  EXPECT_EQ(run.start(3, kDirect + kLatest), 1) << run.logs();
  EXPECT_TRUE(fs::exists(run.slow_path() + "/run/damaged-" + set_name(2))) << run.logs();
}

// A set is there on all ranks or on none.
TEST(GroupSave, what_fails_on_one_rank_has_failed_on_all) {
  for (const auto op : {FileCall::Op::write, FileCall::Op::sync, FileCall::Op::rename}) {
    for (const size_t rank : {0, 1, 2}) {
      GroupRun run(3);
      // Both attempts at step 2.
      run.fast[rank] = {std::make_shared<FaultLayer>(
          Fault{.op = op, .path = set_name(2), .times = SIZE_MAX, .error = EIO})};
      run.start(3, kBurst, saves({1, 2, 3}));
      for (size_t each = 0; each < 3; ++each) {
        EXPECT_EQ(run.status(each).saved, 2) << run.logs();
        EXPECT_EQ(run.status(each).failed, 1) << run.logs();
        EXPECT_FALSE(fs::exists(run.fast_path(each) + "/run/rank-" + std::to_string(each) + "/" +
                                set_name(2)))
            << to_string(op) << " failed on rank " << rank << ", and " << each << " has it";
      }
      EXPECT_FALSE(run.whole_on_slow(2));
      EXPECT_TRUE(run.whole_on_slow(3)) << run.logs();
    }
  }
}

TEST(GroupSave, a_failure_that_passes_is_tried_again_by_all) {
  for (const size_t rank : {0, 1}) {
    GroupRun run(2);
    run.fast[rank] = {std::make_shared<FaultLayer>(
        Fault{.op = FileCall::Op::sync, .path = set_name(1), .error = EIO})};
    run.start(2, kBurst, saves({1}));
    EXPECT_EQ(run.status(0).saved, 1) << run.logs();
    EXPECT_EQ(run.status(1).saved, 1) << run.logs();
    EXPECT_TRUE(run.whole_on_slow(1));
  }
}

TEST(GroupSave, a_drain_that_fails_on_one_rank_is_tried_again_by_all) {
  for (const size_t rank : {0, 1}) {
    for (const auto op : {FileCall::Op::create, FileCall::Op::write, FileCall::Op::sync}) {
      GroupRun run(2);
      run.slow[rank] = {std::make_shared<FaultLayer>(
          Fault{.op = op, .path = "state-", .times = 2, .error = EIO})};
      run.start(2, kBurst, saves({1, 2}));
      EXPECT_EQ(run.status(0).drained, 2) << run.logs();
      EXPECT_EQ(run.status(1).drained, 2) << run.logs();
      EXPECT_GT(run.status(0).drain_retries, 0) << run.logs();
      for (const int64_t step : {1, 2}) EXPECT_TRUE(run.whole_on_slow(step)) << run.logs();
    }
  }
}

// One has no snapshot buffer left, the other has: the set is left out by both, and is no failure.
TEST(GroupSave, a_checkpoint_that_one_rank_skips_is_skipped_by_all) {
  GroupRun run(2);
  const auto gate = std::make_shared<GateLayer>(std::set{FileCall::Op::sync});
  run.fast[1] = {gate};
  gate->close();
  const std::string options = kBurst + ", snapshot: async, on_backlog: skip, slots: 1";
  run.start(2, options, [&](Checkpointer& checkpointer, size_t rank, int64_t) {
    GroupRun::save(checkpointer, 1);
    if (rank == 1) {
      gate->wait_for_call();
      GroupRun::save(checkpointer, 2);  // skipped: its only slot is taken
      gate->open();
    }
    EXPECT_TRUE(checkpointer.flush());
    if (rank == 0) {
      GroupRun::save(checkpointer, 2);
      EXPECT_TRUE(checkpointer.flush());
    }
    GroupRun::save(checkpointer, 3);
    EXPECT_TRUE(checkpointer.flush());
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(run.status(rank).saved, 2) << run.logs();
    EXPECT_EQ(run.status(rank).skipped, 1) << run.logs();
    EXPECT_EQ(run.status(rank).failed, 0) << run.logs();
  }
  EXPECT_FALSE(run.whole_on_slow(2));
  EXPECT_TRUE(run.whole_on_slow(3)) << run.logs();
}

// every_seconds goes by the offers' clock, which is the same on all ranks.
TEST(GroupSave, all_agree_when_a_checkpoint_is_due) {
  GroupRun run(2);
  const std::string options =
      "type: burst_buffer, fast: fast, slow: slow, every_seconds: 10, keep_last: 9";
  run.start(2, options, [](Checkpointer& checkpointer, size_t, int64_t) {
    for (int64_t step = 1; step <= 30; ++step) {
      const TimePoint now = TimePoint() + std::chrono::seconds(step);
      checkpointer.save({.step = step, .now = now}, [&] { return small_state(step); });
      checkpointer.finish_copy();
    }
    EXPECT_TRUE(checkpointer.flush());
  });
  EXPECT_EQ(run.status(0).saved, 2) << run.logs();
  for (const int64_t step : {11, 21}) EXPECT_TRUE(run.whole_on_slow(step)) << run.logs();
}

// A state that one rank cannot make is of one save: all leave that one out.
TEST(GroupSave, a_rank_that_raises_ends_one_save) {
  GroupRun run(2);
  run.start(2, kBurst, [](Checkpointer& checkpointer, size_t rank, int64_t) {
    GroupRun::save(checkpointer, 1);
    for (int64_t step = 2; step <= 4; ++step) {  // more often than there are slots
      const auto state = [&] {
        return rank == 1 ? throw std::runtime_error("no state") : small_state(step);
      };
      if (rank == 1) {
        EXPECT_THROW(checkpointer.save({.step = step}, state), std::runtime_error);
      } else {
        checkpointer.save({.step = step}, state);
        checkpointer.finish_copy();
      }
      EXPECT_FALSE(checkpointer.save({.step = step}, [&] { return small_state(step); }));
    }
    GroupRun::save(checkpointer, 5);
    EXPECT_TRUE(checkpointer.flush());
  });
  EXPECT_EQ(run.status().saved, 2) << run.logs();
  EXPECT_EQ(run.status().skipped, 3) << run.logs();
  EXPECT_TRUE(run.whole_on_slow(5)) << run.logs();
  EXPECT_FALSE(run.whole_on_slow(3)) << run.logs();
}

// Nobody waits for ever for a rank that is gone, and what was acknowledged is there.
TEST(GroupSave, a_rank_that_is_gone_ends_the_waiting_of_the_others) {
  GroupRun run(2);
  run.start(2, kBurst, [](Checkpointer& checkpointer, size_t rank, int64_t) {
    GroupRun::save(checkpointer, 1);
    EXPECT_TRUE(checkpointer.flush());
    if (rank == 1) throw std::runtime_error("killed");
    GroupRun::save(checkpointer, 2);
    EXPECT_TRUE(checkpointer.flush());  // nothing is left: the save has failed
    EXPECT_EQ(checkpointer.status().failed, 1);
  });
  EXPECT_EQ(run.start(2, kBurst + kLatest), 1) << run.logs();
}

}  // namespace
}  // namespace stoker

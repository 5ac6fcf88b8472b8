#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/tools/run_program/verdict/program_roles.h"
#include "app/tools/run_program/verdict/program_verdict.h"

namespace stoker {
namespace {

using Shares = std::vector<std::pair<Doing, double>>;

// A program of ten seconds, in which every thread does the same all the time.
//
//   WatchedProgram program;
//   program.process(1, 0, {"python3", "a.py"}, {{Doing::on_core, 0.2}, {Doing::on_pipe, 0.8}});
struct WatchedProgram {
  ProgramSamples samples;

  WatchedProgram() {
    samples.seconds = 10;
    samples.looks = 200;
    for (int i = 1; i <= 20; ++i) {
      samples.windows.emplace_back();
      samples.windows.back().end_s = 0.5 * i;
    }
  }
  // Its main thread does that.
  void process(pid_t pid, pid_t parent, const std::vector<std::string>& command,
               const Shares& shares) {
    samples.processes.push_back({.pid = pid,
                                 .parent = parent,
                                 .name = command.front(),
                                 .command = command,
                                 .begin_s = 0,
                                 .end_s = 10,
                                 .cores = 4});
    thread(pid, shares, true);
  }
  // Another thread of the last process.
  void thread(pid_t tid, const Shares& shares, bool main = false) {
    const size_t number = samples.threads.size();
    samples.threads.push_back({.tid = tid,
                               .process = samples.processes.size() - 1,
                               .name = "t",
                               .begin_s = 0,
                               .end_s = 10,
                               .did = {},
                               .major_faults = 0,
                               .main = main});
    for (SampleWindow& window : samples.windows) {
      DoingSeconds did;
      for (const auto& [doing, share] : shares) did[doing] = 0.5 * share;
      samples.threads[number].did += did;
      window.threads.push_back({.thread = number, .did = did});
    }
  }
  ProgramVerdict judge(const ProgramIo& io = {}) const { return judge_program(samples, io); }
};

const std::vector<std::string> kTrain = {"python3", "train.py"};
const Shares kWaitsForWorkers = {{Doing::on_core, 0.1}, {Doing::on_pipe, 0.9}};

TEST(ProgramRoles, behind_launchers_the_program_decides_and_its_workers_are_no_ranks) {
  EXPECT_TRUE(launches_by_name({"/bin/sh", "-c", "x"}));
  EXPECT_TRUE(launches_by_name({"python3", "-m", "torch.distributed.run", "a.py"}));
  EXPECT_TRUE(launches_by_name({"python3", "/usr/bin/torchrun", "a.py"}));
  EXPECT_FALSE(launches_by_name({"python3", "train.py"}));
  WatchedProgram program;
  program.process(1, 0, {"sh", "-c", "python3 train.py"}, {{Doing::on_children, 1}});
  program.process(2, 1, kTrain, kWaitsForWorkers);
  program.process(3, 2, kTrain, {{Doing::in_file, 1}});
  program.process(4, 2, kTrain, {{Doing::in_file, 1}});
  const ProgramRoles roles = roles_of(program.samples);
  ASSERT_EQ(roles.ranks.size(), 1u);
  EXPECT_EQ(roles.ranks[0].process, 1u);
  EXPECT_EQ(roles.ranks[0].worker_processes, 2u);
}

TEST(ProgramRoles, who_only_waits_for_its_children_to_end_has_started_ranks) {
  WatchedProgram program;
  program.process(1, 0, kTrain, {{Doing::on_core, 0.02}, {Doing::on_children, 0.98}});
  program.process(2, 1, kTrain, {{Doing::on_core, 1}});
  program.process(3, 1, kTrain, {{Doing::on_core, 1}});
  program.process(4, 1, {"python3", "-c", "from multiprocessing.resource_tracker import main"},
                  {{Doing::on_pipe, 1}});
  EXPECT_EQ(roles_of(program.samples).ranks.size(), 2u);
}

TEST(ProgramVerdict, workers_that_are_blocked_in_files_are_storage) {
  WatchedProgram program;
  program.process(1, 0, kTrain, kWaitsForWorkers);
  program.process(2, 1, kTrain, {{Doing::in_file, 0.8}, {Doing::on_core, 0.2}});
  program.samples.blocked = {{"/usr/lib/x.so", "ext4 a at /", Doing::in_file, 9},
                             {"/home/u/names.csv", "ext4 a at /", Doing::in_file, 5},
                             {"/data/a/1.jpg", "nfs s at /data", Doing::in_file, 4},
                             {"/data/b/2.jpg", "nfs s at /data", Doing::in_file, 4}};
  const ProgramVerdict verdict = program.judge();
  EXPECT_EQ(verdict.bound, Bound::storage);
  EXPECT_EQ(verdict.where, "/data (nfs s at /data)");
  EXPECT_NEAR(verdict.share, 0.72, 1e-6);
  EXPECT_NEAR(verdict.gain_at_most, 0.72, 1e-6);
  EXPECT_FALSE(verdict.next.empty());
}

TEST(ProgramVerdict, workers_on_cores_are_decoding_and_workers_without_are_too_few_cores) {
  WatchedProgram program;
  program.process(1, 0, kTrain, kWaitsForWorkers);
  program.process(2, 1, kTrain,
                  {{Doing::in_file, 0.2}, {Doing::on_core, 0.7}, {Doing::for_core, 0.1}});
  EXPECT_EQ(program.judge().bound, Bound::workers);
  WatchedProgram crowded;
  crowded.process(1, 0, kTrain, kWaitsForWorkers);
  crowded.process(2, 1, kTrain, {{Doing::on_core, 0.3}, {Doing::for_core, 0.7}});
  EXPECT_EQ(crowded.judge().bound, Bound::cores);
}

TEST(ProgramVerdict, other_threads_work_for_the_main_one_as_well) {
  WatchedProgram program;
  program.process(1, 0, kTrain, {{Doing::on_lock, 1}});
  program.thread(11, {{Doing::in_file, 0.9}, {Doing::on_core, 0.1}});
  program.thread(12, {{Doing::asleep, 1}});
  EXPECT_EQ(program.judge().bound, Bound::storage);
}

TEST(ProgramVerdict, idle_workers_mean_that_the_main_process_decides) {
  WatchedProgram program;
  program.process(1, 0, kTrain, {{Doing::on_core, 0.9}, {Doing::on_pipe, 0.1}});
  program.process(2, 1, kTrain, {{Doing::in_file, 0.1}, {Doing::on_pipe, 0.9}});
  EXPECT_EQ(program.judge().bound, Bound::main_process);
  WatchedProgram sleeps;
  sleeps.process(1, 0, kTrain, {{Doing::asleep, 0.9}, {Doing::in_file, 0.1}});
  EXPECT_EQ(sleeps.judge().bound, Bound::main_process);
}

TEST(ProgramVerdict, reads_that_copy_from_memory_are_not_storage) {
  WatchedProgram program;
  program.process(1, 0, kTrain, {{Doing::on_core, 1}});
  ProgramIo io;
  io.copied_s = 9;
  const ProgramVerdict verdict = program.judge(io);
  EXPECT_EQ(verdict.bound, Bound::main_process);
  EXPECT_NE(nlohmann::json(verdict.evidence).dump().find("copying from memory"), std::string::npos);
}

TEST(ProgramVerdict, a_busy_gpu_explains_a_main_thread_that_waits_for_it_by_spinning) {
  WatchedProgram program;
  program.process(1, 0, kTrain, {{Doing::on_core, 0.95}, {Doing::on_pipe, 0.05}});
  for (SampleWindow& window : program.samples.windows) window.gpu_busy = 0.9;
  EXPECT_EQ(program.judge().bound, Bound::gpu);
}

TEST(ProgramVerdict, a_server_is_not_a_rank) {
  WatchedProgram program;
  program.process(1, 0, kTrain, {{Doing::on_core, 0.1}, {Doing::on_socket, 0.9}});
  program.samples.blocked = {{"10.0.0.1:443", "", Doing::on_socket, 9}};
  const ProgramVerdict verdict = program.judge();
  EXPECT_EQ(verdict.bound, Bound::network);
  EXPECT_EQ(verdict.where, "10.0.0.1:443");
}

TEST(ProgramVerdict, ranks_wait_for_the_one_that_is_slow_whatever_makes_it_so) {
  WatchedProgram program;
  program.process(1, 0, {"torchrun", "train.py"}, {{Doing::asleep, 1}});
  program.process(2, 1, kTrain, {{Doing::on_core, 0.3}, {Doing::on_socket, 0.7}});
  program.process(3, 1, kTrain, {{Doing::on_core, 0.2}, {Doing::in_file, 0.8}});
  const ProgramVerdict verdict = program.judge();
  EXPECT_EQ(verdict.bound, Bound::peers);
  EXPECT_EQ(verdict.where, "process 3, one of 2 ranks");
  EXPECT_NEAR(verdict.gain_at_most, 0.7, 1e-6);
  EXPECT_NE(verdict.what.find("waits for files"), std::string::npos);
}

TEST(ProgramVerdict, ranks_that_all_read_are_held_up_by_storage) {
  WatchedProgram program;
  program.process(1, 0, {"torchrun", "train.py"}, {{Doing::asleep, 1}});
  for (pid_t pid = 2; pid < 4; ++pid) {
    program.process(pid, 1, kTrain,
                    {{Doing::in_file, 0.7}, {Doing::on_lock, 0.2}, {Doing::on_core, 0.1}});
  }
  EXPECT_EQ(program.judge().bound, Bound::storage);
}

TEST(ProgramVerdict, of_what_was_hardly_seen_nothing_is_said) {
  WatchedProgram program;
  EXPECT_EQ(program.judge().bound, std::nullopt);
  EXPECT_FALSE(program.judge().what.empty());
  program.process(1, 0, kTrain, {{Doing::on_core, 1}});
  program.samples.looks = 2;
  EXPECT_EQ(program.judge().bound, std::nullopt);
}

TEST(VerdictRecord, the_record_and_the_text_say_the_same) {
  WatchedProgram program;
  program.process(1, 0, {"python3", "tra\xffin.py"}, kWaitsForWorkers);
  program.process(2, 1, kTrain, {{Doing::in_file, 1}});
  program.samples.blocked = {{"/data/\x1b[1m.jpg", "ext4 a at /", Doing::in_file, 4}};
  ProgramIo io;
  io.files.push_back({.path = "/data/2.jpg", .reads = 3, .bytes_read = 5'000'000, .read_s = 2});
  const ProgramVerdict verdict = program.judge(io);
  const nlohmann::json record = program_record(program.samples, io, verdict);
  EXPECT_EQ(record["verdict"]["bound"], "storage");
  EXPECT_EQ(record["kind"], "program");
  EXPECT_EQ(record["files"].size(), 2u);
  EXPECT_NO_THROW(record.dump());
  EXPECT_EQ(record["course"]["end_s"].size(), 20u);
  const std::string text = program_text(program.samples, io, verdict);
  EXPECT_NE(text.find("Storage"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(record_beside("a/b.darshan"), "a/b.json");
}

TEST(VerdictRecord, a_file_that_blocked_has_its_calls_however_many_files_took_longer) {
  WatchedProgram program;
  program.process(1, 0, kTrain, {{Doing::in_file, 1}});
  program.samples.blocked = {{"/data/slow.jpg", "ext4 a at /", Doing::in_file, 4}};
  ProgramIo io;
  for (int i = 0; i < 300; ++i) {
    io.files.push_back({.path = "/data/" + std::to_string(i), .read_s = 1});
  }
  io.files.push_back({.path = "/data/slow.jpg", .reads = 3, .meta_s = 0.5});
  const auto record = program_record(program.samples, io, program.judge(io));
  EXPECT_EQ(record["files"].size(), 200u);
  EXPECT_EQ(record["files"][0]["path"], "/data/slow.jpg");
  EXPECT_EQ(record["files"][0].value("seconds", 0.0), 0.5);
  EXPECT_EQ(record["files"][0]["reads"], 3);
}

}  // namespace
}  // namespace stoker

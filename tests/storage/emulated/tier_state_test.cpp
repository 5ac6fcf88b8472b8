#include "io/storage/emulated/tier_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "io/storage/emulated/tier_device.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// The state, for as long as this lives.
struct Locked {
  explicit Locked(TierShare& of) : lock(of), state(&of.state()) {}
  TierState* operator->() const { return state; }
  std::lock_guard<TierShare> lock;
  TierState* state;
};

using namespace std::chrono_literals;
using Kind = TierOperation::Kind;

// A child of this process that does `work`; _exit keeps it from the parent's clean-up.
pid_t child(const std::function<void()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    work();
    ::_exit(0);
  }
  return pid;
}

int wait_for(pid_t pid) {
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

struct Share : testing::Test {
  std::string only_file() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      return entry.path();
    }
    return "";
  }
  TemporaryDirectory directory;
};

TEST_F(Share, the_same_identity_is_the_same_device) {
  TierShare one("disk", directory.path()), two("disk", directory.path());
  TierShare other("another", directory.path()), own;
  EXPECT_EQ(one.remark() + two.remark() + other.remark() + own.remark(), "");
  Locked(one)->pipe_end = 42;
  EXPECT_EQ(Locked(two)->pipe_end, 42);
  EXPECT_EQ(Locked(other)->pipe_end, 0);
  EXPECT_EQ(Locked(own)->pipe_end, 0);
}

TEST_F(Share, whoever_leaves_last_takes_the_file_away) {
  std::optional<TierShare> one(std::in_place, "disk", directory.path());
  std::optional<TierShare> two(std::in_place, "disk", directory.path());
  EXPECT_EQ(only_file(), one->path());
  one.reset();
  EXPECT_EQ(only_file(), two->path());
  two.reset();
  EXPECT_EQ(only_file(), "");
}

TEST_F(Share, says_how_many_living_processes_share_it) {
  TierShare here("disk", directory.path());
  EXPECT_EQ(here.processes(), 1);
  {
    TierShare again("disk", directory.path());
    EXPECT_EQ(here.processes(), 1);  // one process, whatever it has open
    const pid_t other = child([&] {
      TierShare share("disk", directory.path());
      if (share.processes() != 2) throw std::runtime_error("alone");
    });
    EXPECT_EQ(wait_for(other), 0);
  }
  EXPECT_EQ(here.processes(), 1);
  const pid_t killed = child([&] {
    const TierShare share("disk", directory.path());
    ::raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(wait_for(killed)));
  EXPECT_EQ(here.processes(), 1);
}

TEST_F(Share, only_its_user_can_open_it) {
  const TierShare share("disk", directory.path());
  struct stat status {};
  ASSERT_EQ(::stat(share.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(Share, two_processes_share_the_bandwidth_of_one_device) {
  TierCosts costs;
  costs.read_bytes_per_s = 1e9;
  costs.read_latency = 1ms;
  const auto work = [&] {
    TierDevice device(costs, std::make_shared<TierShare>("disk", directory.path()));
    TimePoint now = Clock::now();
    for (int i = 0; i < 100; ++i) {
      const TimePoint ready = device.admit(now, {Kind::read, 1'000'000}).ready;
      now = device.transfer({ready, Kind::read, 1'000'000}).end;
    }
  };
  TierShare here("disk", directory.path());
  const TimePoint begin = Clock::now();
  const pid_t first = child(work), second = child(work);
  EXPECT_EQ(wait_for(first), 0);
  EXPECT_EQ(wait_for(second), 0);
  const Locked state(here);
  EXPECT_EQ(state->operations, 200u);
  EXPECT_EQ(state->bytes_read, 200'000'000u);
  EXPECT_EQ(std::chrono::nanoseconds(state->pipe_busy), 200ms);
  EXPECT_EQ(std::chrono::nanoseconds(state->slots_busy), 200ms);
  // Neither of them was done before the device could have been.
  EXPECT_GE(std::chrono::nanoseconds(state->slots_end) - begin.time_since_epoch(), 200ms);
}

TEST_F(Share, a_process_that_dies_with_the_lock_held_stops_nobody) {
  TierShare here("disk", directory.path());
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t victim = child([&] {
    TierShare share("disk", directory.path());
    const Locked state(share);
    state->pipe_end = 42;
    const char byte = 'x';
    if (::write(ready[1], &byte, 1) == 1) ::pause();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(victim, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(wait_for(victim)));
  EXPECT_EQ(Locked(here)->pipe_end, 42);
  EXPECT_EQ(Locked(here)->pipe_end, 42);  // and the lock is whole again
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(Share, the_file_of_a_process_that_was_killed_is_begun_anew) {
  const pid_t victim = child([&] {
    TierShare share("disk", directory.path());
    Locked(share)->pipe_end = INT64_MAX;
    ::kill(::getpid(), SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(wait_for(victim)));
  EXPECT_NE(only_file(), "");
  {
    TierShare share("disk", directory.path());
    EXPECT_EQ(share.remark(), "");
    EXPECT_EQ(Locked(share)->pipe_end, 0);
  }
  EXPECT_EQ(only_file(), "");
}

TEST_F(Share, what_killed_processes_left_is_taken_away_by_any_other) {
  const pid_t victim = child([&] {
    TierShare share("disk", directory.path());
    ::kill(::getpid(), SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(wait_for(victim)));
  const std::string left = only_file();
  const TierShare other("another", directory.path());
  EXPECT_FALSE(std::filesystem::exists(left));
  const TierShare third("third", directory.path());
  EXPECT_TRUE(std::filesystem::exists(other.path()));
}

TEST_F(Share, a_forked_child_that_ends_leaves_the_file_to_its_parent) {
  auto share = std::make_unique<TierShare>("disk", directory.path());
  EXPECT_EQ(wait_for(child([&] { share.reset(); })), 0);
  EXPECT_EQ(only_file(), share->path());
}

TEST_F(Share, a_left_over_of_another_layout_is_replaced) {
  const std::string path = TierShare("disk", directory.path()).path();
  directory.write("x", "");
  std::filesystem::rename(directory / "x", path);
  std::filesystem::resize_file(path, 16);
  TierShare share("disk", directory.path());
  EXPECT_EQ(share.remark(), "");
  EXPECT_EQ(Locked(share)->size, sizeof(TierState));
}

TEST_F(Share, another_layout_that_is_in_use_is_left_alone) {
  TierShare first("disk", directory.path());
  Locked(first)->size = 1;
  TierShare second("disk", directory.path());
  EXPECT_NE(second.remark().find("cannot share the emulated device between processes: "),
            std::string::npos);
  EXPECT_EQ(second.path(), "");
  Locked(second)->pipe_end = 42;
  EXPECT_EQ(Locked(first)->pipe_end, 0);
}

TEST_F(Share, where_no_file_is_possible_the_device_is_its_own_and_says_why) {
  TierShare share("disk", directory / "absent");
  EXPECT_TRUE(share.remark().ends_with(": No such file or directory")) << share.remark();
  Locked(share)->pipe_end = 42;
}

TEST_F(Share, a_link_in_its_place_is_not_followed) {
  const std::string path = TierShare("disk", directory.path()).path();
  directory.write("target", "precious");
  std::filesystem::create_symlink(directory / "target", path);
  EXPECT_NE(TierShare("disk", directory.path()).remark(), "");
  EXPECT_EQ(directory.read("target"), "precious");
}

TEST_F(Share, many_who_come_and_go_at_once_never_fail) {
  std::vector<std::jthread> threads;
  std::atomic<int> remarks = 0, counted = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        TierShare share("disk", directory.path());
        if (!share.remark().empty()) ++remarks;
        if (Locked(share)->operations++ < 800) ++counted;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(remarks, 0);
  EXPECT_EQ(counted, 800);
  EXPECT_EQ(only_file(), "");
}

}  // namespace
}  // namespace stoker

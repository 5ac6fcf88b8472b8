#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "tests/support/checkpoint_run.h"
#include "tests/support/errors.h"
#include "tests/support/short_tests.h"

// Two processes and one directory.

namespace stoker {
namespace {

// A process that says "r" or "x" when `work` is done, and then waits to be killed.
class Child {
 public:
  explicit Child(const std::function<bool()>& work) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const char said = work() ? 'r' : 'x';
      if (::write(ends[1], &said, 1) == 1) ::pause();
      ::_exit(1);
    }
    ::close(ends[1]);
    result_ = ends[0];
  }
  ~Child() {
    kill();
    ::close(result_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  char wait() const {
    char said = 0;
    return ::read(result_, &said, 1) == 1 ? said : '-';
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  int result_ = -1;
};

// Starts a run in `root`, saves `steps`, and holds on to the directory.
std::function<bool()> run_in(const std::string& root, const std::string& options,
                             const std::vector<int64_t>& steps) {
  return [=] {
    // Not destroyed: the process is killed.
    auto* run = new CheckpointRun(root);
    try {
      run->start(options + ", resume: latest");
    } catch (const Error&) {
      return false;
    }
    for (const int64_t step : steps) run->save(step);
    return true;
  };
}

TEST(Lock, a_second_process_is_refused_and_told_where) {
  const TemporaryDirectory root;
  const Child owner(run_in(root.path(), kDirect, {1}));
  ASSERT_EQ(owner.wait(), 'r');
  CheckpointRun run(root.path());
  EXPECT_EQ(error_of([&] { run.start(kDirect + ", resume: latest"); }),
            "checkpoint directory " + root.path() +
                "/slow/run (tier slow) is in use by another process; wait for its end, or give "
                "this run another checkpoint.directory");
}

TEST(Lock, of_a_killed_process_is_taken_over) {
  const TemporaryDirectory root;
  Child owner(run_in(root.path(), kDirect, {1, 2}));
  ASSERT_EQ(owner.wait(), 'r');
  owner.kill();
  CheckpointRun run(root.path());
  EXPECT_EQ(run.resume(kDirect + ", resume: latest"), 2);
}

TEST(Lock, is_taken_on_both_tiers) {
  const TemporaryDirectory root;
  const Child owner(run_in(root.path(), kBurst, {}));
  ASSERT_EQ(owner.wait(), 'r');
  CheckpointRun run(root.path());
  EXPECT_NE(error_of([&] { run.start(kDirect); }).find("/slow/run (tier slow) is in use"),
            std::string::npos);
}

TEST(Lock, another_directory_is_free) {
  const TemporaryDirectory root;
  const Child owner(run_in(root.path(), kBurst, {}));
  ASSERT_EQ(owner.wait(), 'r');
  CheckpointRun run(root.path());
  EXPECT_NO_THROW(run.start(kBurst + ", directory: other"));
}

TEST(Lock, is_given_back_at_the_end) {
  const TemporaryDirectory root;
  CheckpointRun first(root.path()), second(root.path());
  first.start(kBurst);
  EXPECT_THROW(second.start(kBurst), Error);
  first.stop();
  EXPECT_NO_THROW(second.start(kBurst));
}

TEST(Lock, of_racing_processes_exactly_one_wins_and_no_files_mix) {
  for (size_t round = 0; round < 100 / stride(1); ++round) {
    const TemporaryDirectory root;
    const Child a(run_in(root.path(), kDirect, {1, 3})), b(run_in(root.path(), kDirect, {2, 4}));
    const std::string said = {a.wait(), b.wait()};
    const std::vector<int64_t> steps = CheckpointRun(root.path()).steps("slow");
    if (said == "rx") {
      EXPECT_EQ(steps, (std::vector<int64_t>{1, 3}));
    } else {
      EXPECT_EQ(said, "xr");
      EXPECT_EQ(steps, (std::vector<int64_t>{2, 4}));
    }
  }
}

}  // namespace
}  // namespace stoker

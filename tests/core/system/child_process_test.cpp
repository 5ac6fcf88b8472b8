#include "io/core/system/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

ProcessStart shell(const std::string& script) {
  return {"sh", {"-c", script}, environment_with({}), {}, true};
}

TEST(ChildProcess, its_exit_code_comes_back) {
  EXPECT_EQ(ChildProcess(shell("exit 7")).wait(), 7);
  EXPECT_EQ(ChildProcess(shell("kill -9 $$")).wait(), 128 + SIGKILL);
}

TEST(ChildProcess, has_the_descriptors_and_the_environment_that_it_is_given) {
  const TemporaryDirectory directory;
  const std::string path = directory / "out";
  const FileDescriptor out = open_file("write", path, O_WRONLY | O_CREAT);
  ProcessStart start = shell("echo \"$A\"; echo lost >&2; echo \"$A\" >&4");
  start.environment = environment_with({"A=b c"});
  start.descriptors = {{STDOUT_FILENO, out.get()}, {STDERR_FILENO, -1}, {4, out.get()}};
  EXPECT_EQ(ChildProcess(start).wait(), 0);
  EXPECT_EQ(read_if_there(path), "b c\nb c\n");
}

TEST(ChildProcess, begins_with_no_signal_blocked) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  ChildProcess child(shell("sleep 60"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  child.signal(SIGTERM);
  EXPECT_EQ(child.wait(), 128 + SIGTERM);
}

TEST(ChildProcess, begins_with_those_signals_blocked_that_it_is_told) {
  ProcessStart start = shell("kill -USR2 $$; exit 7");
  start.blocked = {SIGUSR2};
  EXPECT_EQ(ChildProcess(start).wait(), 7);
}

TEST(ChildProcess, what_it_leaves_behind_ends_with_it) {
  const TemporaryDirectory directory;
  const std::string path = directory / "pid";
  EXPECT_EQ(ChildProcess(shell("sleep 60 & echo $! > " + path)).wait(), 0);
  const pid_t left = std::stoi(read_if_there(path).value());
  for (int i = 0; i < 500 && ::kill(left, 0) == 0; ++i) ::usleep(10'000);
  // A process that nobody has asked for yet is still there, as a zombie.
  const std::string status =
      read_if_there("/proc/" + std::to_string(left) + "/stat").value_or(") Z");
  EXPECT_THAT(status, ::testing::HasSubstr(") Z"));
}

TEST(ChildProcess, a_program_that_is_not_there_is_an_error) {
  EXPECT_THROW(ChildProcess({"/no/such/program", {}, {}}), IoError);
}

}  // namespace
}  // namespace stoker

#include "io/core/system/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "tests/support/errors.h"

namespace stoker {
namespace {

// What standard output is from now on, in the child of a death test.
void print_to(int descriptor) { ::dup2(descriptor, STDOUT_FILENO); }

// The end of a pipe that nobody reads.
int dead_pipe() {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) ::_exit(99);
  ::close(ends[0]);
  return ends[1];
}

TEST(StandardStreams, that_are_closed_do_not_become_the_next_file) {
  EXPECT_EXIT(
      {
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
        open_standard_streams();
        write_stderr("lost");
        ::_exit(::open("/dev/null", O_RDONLY) > STDERR_FILENO ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(StandardStreams, that_are_open_stay_as_they_are) {
  EXPECT_EXIT(
      {
        open_standard_streams();
        write_stderr("still there");
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "^still there$");
}

TEST(StandardStreams, a_full_or_dead_standard_error_harms_nobody) {
  EXPECT_EXIT(
      {
        for (const int stream : {::open("/dev/full", O_WRONLY), dead_pipe()}) {
          ::dup2(stream, STDERR_FILENO);
          write_stderr("lost");
        }
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(StandardStreams, a_full_standard_output_is_an_error_and_a_reader_that_has_gone_is_none) {
  EXPECT_EXIT(
      {
        print_to(dead_pipe());
        write_stdout("lost");
        print_to(::open("/dev/full", O_WRONLY));
        write_stderr(error_of([] { write_stdout("lost"); }));
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "^write standard output: No space left on device$");
}

}  // namespace
}  // namespace stoker

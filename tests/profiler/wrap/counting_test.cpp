#include "io/profiler/wrap/counting.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "tests/profiler/wrap/attached.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using testing::ElementsAre;

TEST(Counting, is_switched_without_attaching_again) {
  char byte = 0;
  const int zero = open("/dev/zero", O_RDONLY);
  const auto lines = told_of([&] {
    read(zero, &byte, 1);
    count_calls(false);
    read(zero, &byte, 1);
    count_calls(true);
    read(zero, &byte, 1);
  });
  close(zero);
  EXPECT_THAT(lines, ElementsAre("read 1 on", "read 1 on"));
}

TEST(Counting, leaves_our_own_io_out) {
  char byte = 0;
  const int zero = open("/dev/zero", O_RDONLY);
  const auto lines = told_of([&] {
    {
      const OwnIo own;
      const OwnIo nested;
      read(zero, &byte, 1);
      // Another thread's is the program's.
      std::thread([&] { read(zero, &byte, 1); }).join();
    }
    pread(zero, &byte, 1, 5);
  });
  close(zero);
  EXPECT_THAT(lines, ElementsAre("read 1 on", "read 1 at 5"));
}

TEST(Counting, names_the_files_that_are_open_already) {
  const TemporaryDirectory directory;
  const int file = open((directory / "a").c_str(), O_CREAT | O_RDWR, 0644);
  told_of([] {});
  EXPECT_GE(Told::instance().of(Told::named), 1);
  close(file);
}

TEST(Counting, is_off_in_the_child_of_a_fork) {
  const Attached attached;
  const pid_t child = fork();
  if (child == 0) {
    const int zero = open("/dev/zero", O_RDONLY);
    count_calls(true);
    close(zero);
    _exit(Told::instance().of(Told::opened) == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Counting, leaves_out_what_the_child_of_a_vfork_does_to_all_descriptors) {
  const auto lines = told_of([] {
    const pid_t child = vfork();
    if (child == 0) {
      dup2(1, 9);
      fcntl(1, F_DUPFD, 10);
      closefrom(9);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  });
  EXPECT_THAT(lines, ElementsAre());
}

#ifndef __SANITIZE_ADDRESS__  // what it knows of a stack is wrong after a cancellation
TEST(Counting, is_not_of_a_read_that_is_cancelled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  bool unwound = false;
  const auto lines = told_of([&] {
    struct Work {
      int fd;
      bool& unwound;
      ~Work() { unwound = true; }
    };
    const auto block = [](void* data) -> void* {
      Work work{*static_cast<Work*>(data)};
      char byte = 0;
      read(work.fd, &byte, 1);
      return nullptr;
    };
    Work work{ends[0], unwound};
    pthread_t thread{};
    pthread_create(&thread, nullptr, block, &work);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(unwound);
  });
  for (const int end : ends) close(end);
  EXPECT_THAT(lines, ElementsAre());
}
#endif

TEST(Counting, follows_a_library_that_is_loaded_meanwhile) {
  const int zero = open("/dev/zero", O_RDONLY);
  const auto lines = told_of([&] {
    void* const library = dlopen(PROBE_LAZY, RTLD_LAZY);
    ASSERT_NE(library, nullptr);
    char byte = 0;
    reinterpret_cast<ssize_t (*)(int, void*, size_t)>(dlsym(library, "probe_read"))(zero, &byte, 1);
    dlclose(library);
  });
  close(zero);
  EXPECT_THAT(lines, ElementsAre("read 1 on"));
}

}  // namespace
}  // namespace stoker

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/neighbours.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

TEST(SharedMemory, is_zeroed_and_seen_by_the_process_that_opens_it_by_name) {
  const SharedMemory memory(10'000);
  EXPECT_TRUE(std::ranges::all_of(memory.bytes(), [](uint8_t byte) { return byte == 0; }));
  const std::string name = memory.name();
  const pid_t child = fork();
  if (child == 0) {
    const SharedMemory same(name, 10'000);
    same.bytes()[9'999] = 7;
    _exit(same.bytes().data() != memory.bytes().data() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(memory.bytes()[9'999], 7);
}

TEST(SharedMemory, is_not_opened_by_a_name_that_is_no_longer_its_own) {
  SharedMemory memory(100);
  const std::string name = memory.name();
  EXPECT_EQ(code_of([&] { SharedMemory(name, 101); }), ExitCode::storage);
  const std::string other = name.substr(0, name.find(' ')) + " 1";
  EXPECT_EQ(error_of([&] { SharedMemory(other, 100); }),
            "share " + name.substr(0, name.find(' ')) + ": it is not the memory that was named");
  EXPECT_EQ(SharedMemory(name, 100).bytes().size(), 100u);
  memory.hide();
  EXPECT_EQ(memory.name(), "");
  EXPECT_EQ(code_of([&] { SharedMemory(name, 100); }), ExitCode::environment);
  memory.bytes()[0] = 1;  // its owner keeps it
}

TEST(SharedMemory, of_one_alone_has_no_name) {
  SharedMemory memory(5'000, true);
  EXPECT_EQ(memory.name(), "");
  const SharedMemory moved(std::move(memory));
  moved.bytes()[4'999] = 1;
  EXPECT_EQ(moved.bytes()[0], 0);
}

TEST(SharedMemory, that_is_larger_than_any_memory_is_an_error) {
  EXPECT_THROW(SharedMemory(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(SharedMemory(size_t{1} << 61), IoError);
}

}  // namespace
}  // namespace stoker

#include "app/cli.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

namespace stoker {
namespace {

// What an exception in a thread makes of the process, once the program has begun.
template <class E>
void throw_in_a_thread(const E& error) {
  char program[] = "stoker", command[] = "--version";
  char* words[] = {program, command, nullptr};
  run_cli(2, words);
  std::jthread([&] { throw error; }).join();
}

TEST(Program, that_an_exception_ends_which_nobody_catches_says_which) {
  EXPECT_EXIT(throw_in_a_thread(std::runtime_error("no such tensor")), testing::ExitedWithCode(70),
              "error: this is a bug of stoker, please report it: no such tensor");
  EXPECT_EXIT(throw_in_a_thread(std::bad_alloc()), testing::ExitedWithCode(3), "out of memory");
}

TEST(Program, that_cannot_go_on_has_the_exit_code_of_a_bug) {
  EXPECT_EXIT({ throw_in_a_thread(0); }, testing::ExitedWithCode(70),
              "error: this is a bug of stoker, please report it: ");
}

}  // namespace
}  // namespace stoker

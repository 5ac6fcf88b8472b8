#include <gtest/gtest.h>

#include <thread>

#include "app/process/failure.h"

namespace stoker {
namespace {

TEST(EndWithin, ends_a_process_that_hangs_with_its_error_and_exit_code) {
  EXPECT_EXIT(
      {
        end_within(std::chrono::seconds(0), Error(ExitCode::device, "rank 1 is gone"));
        std::this_thread::sleep_for(std::chrono::minutes(10));
      },
      testing::ExitedWithCode(6), "^error: rank 1 is gone\n$");
}

TEST(EndWithin, leaves_a_process_alone_that_ends_by_itself) {
  EXPECT_EXIT(
      {
        end_within(std::chrono::minutes(10), Error(ExitCode::device, "rank 1 is gone"));
        std::exit(5);
      },
      testing::ExitedWithCode(5), "^$");
}

}  // namespace
}  // namespace stoker

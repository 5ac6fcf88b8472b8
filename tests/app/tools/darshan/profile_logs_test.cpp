#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "app/tools/darshan/darshan.h"
#include "io/profiler/log/darshan_log.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// By letters the forty would be 0, 10, 100, 105, ...
TEST(ProfileLogs, the_first_forty_that_a_page_has_in_full_are_those_of_the_first_steps) {
  const TemporaryDirectory directory;
  for (int64_t step = 0; step < 5 * 45; step += 5) {
    IoProfile profile;
    profile.steps = {step, step + 5};
    write_darshan_log(profile, directory / fmt::format("io_profile-{}.darshan", step));
  }
  const nlohmann::json list = profile_page_data(directory.path());
  ASSERT_EQ(list.size(), 45U);
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].at("file"), fmt::format("io_profile-{}.darshan", 5 * i));
    EXPECT_EQ(list[i].at("profile").at("job").at("steps")[0], 5 * i);
    EXPECT_EQ(list[i].at("profile").contains("remarks"), i < 40) << i;
  }
}

}  // namespace
}  // namespace stoker

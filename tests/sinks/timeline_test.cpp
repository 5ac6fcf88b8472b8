#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <thread>

#include "tests/sinks/records.h"

namespace stoker {
namespace {

using std::chrono::milliseconds;

// Rows are there while the run goes on, so a process that is killed leaves them.
TEST(Timeline, rows_begin_with_the_loop_and_are_whole_at_once) {
  SinkRig setup;
  TierMeter& tier = setup.hub.add_tier("data", "posix", false);
  const auto sink = setup.make("{type: timeline, seconds: 0.05}");
  tier.finished(TierOp::read, Clock::now(), 1'000'000);  // before the loop: in no row
  std::this_thread::sleep_for(milliseconds(150));
  EXPECT_EQ(setup.run.read("timeline.csv"), "");
  setup.hub.run().set_phase(RunPhase::train);
  while (setup.run.read("timeline.csv").empty()) std::this_thread::sleep_for(milliseconds(5));
  tier.finished(TierOp::read, Clock::now(), 2'000'000);
  while (std::ranges::count(setup.run.read("timeline.csv"), '\n') < 3) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  sink->flush();
  std::istringstream text(setup.run.read("timeline.csv"));
  std::string header;
  std::getline(text, header);
  EXPECT_TRUE(
      header.starts_with("elapsed_s,now_unix_s,images_per_s,device.observed_s,device.busy_share,"))
      << header;
  const auto names = std::ranges::count(header, ',');
  double before = 0;
  double megabytes = 0;
  const auto column =
      std::ranges::count(header.substr(0, header.find("tiers.data.read.mb_per_s")), ',');
  for (std::string line; std::getline(text, line);) {
    EXPECT_EQ(std::ranges::count(line, ','), names);
    std::istringstream row(line);
    std::string field;
    double t = 0;
    for (long i = 0; std::getline(row, field, ','); ++i) {
      if (i == 0) t = std::stod(field);
      if (i == column) megabytes += std::stod(field) * (t - before);
    }
    before = t;
  }
  EXPECT_NEAR(megabytes, 2, 0.05);
}

TEST(Timeline, a_run_that_never_began_leaves_no_row) {
  SinkRig setup;
  const auto sink = setup.make("{type: timeline}");
  sink->flush();
  EXPECT_EQ(setup.run.read("timeline.csv"), "");
}

}  // namespace
}  // namespace stoker

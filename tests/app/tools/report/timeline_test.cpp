#include "app/tools/report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/errors.h"

namespace stoker {
namespace {

TimeLog parsed(const std::string& text) {
  TimeLog log;
  read_time_log(text, "log", log);
  return log;
}

Timeline timeline(const std::string& text) { return read_timeline(text, "timeline.json"); }

TEST(Timeline, records_are_joined_with_the_operations_of_a_profiler) {
  const std::string events =
      R"({"ph": "X", "cat": "Op", "name": "a", "ts": 2000000, "dur": 1000000},)"
      R"({"ph": "X", "cat": "Op", "name": "b", "ts": 2500000, "dur": 1500000},)"
      R"({"ph": "X", "cat": "Op", "name": "c", "ts": 6000000, "dur": 1000000},)"
      R"({"ph": "X", "cat": "Memory", "name": "d", "ts": 0, "dur": 9000000},)"
      R"({"ph": "M", "name": "process_name"})";
  const TimeLog log = parsed(
      "-1,0,r,Time to Read Single Image,0,3,3,1,2\n"
      "-1,1,r,Time to Read Single Image,3.5,5,1.5,1,2\n");
  const Timeline theirs = timeline("{\"traceEvents\": [" + events + "]}");
  EXPECT_EQ(theirs.what, "operators");
  const nlohmann::json joined = joined_figures(log, theirs);
  EXPECT_NEAR(joined["window_s"].get<double>(), 5, 1e-9);
  EXPECT_NEAR(joined["operations_s"].get<double>(), 3, 1e-9);
  EXPECT_NEAR(joined["read_s"].get<double>(), 1 + 1.5, 1e-9);
  EXPECT_NEAR(joined["hidden_s"].get<double>(), 1 + 0.5, 1e-9);
  EXPECT_NEAR(joined["exposed_s"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(joined["idle_s"].get<double>(), 1, 1e-9);
  // Where kernels were seen, they are what counts; ours count from a base.
  const Timeline ours =
      timeline(R"({"baseTimeNanoseconds": 4000000000, "traceEvents": [)"
               R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 500000.5, "dur": 1000000},)" +
               events + "]}");
  EXPECT_EQ(ours.what, "kernels");
  EXPECT_EQ(ours.window, (TimeSpan{4500001, 5500001}));
  EXPECT_NEAR(joined_figures(log, ours)["hidden_s"].get<double>(), 0.499999, 1e-9);
}

TEST(Timeline, what_is_no_timeline_is_an_error_that_names_the_file) {
  for (const char* text :
       {"", "[1]", "{}", R"({"traceEvents": 1})", R"({"traceEvents": [1, null, {"ph": "X"}]})",
        R"({"traceEvents": [{"ph": "X", "cat": "Op", "ts": 1e300, "dur": 1}]})",
        R"({"traceEvents": [{"ph": "X", "cat": "Op", "ts": 1, "dur": -1}]})"}) {
    EXPECT_EQ(code_of([&] { timeline(text); }), ExitCode::data) << text;
    EXPECT_THAT(error_of([&] { timeline(text); }),
                testing::HasSubstr("timeline.json: no Chrome trace"));
  }
}

}  // namespace
}  // namespace stoker

#include "app/time_log/time_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stoker {
namespace {

constexpr const char* kHeader =
    "Epoch, Rank, Action Name, Action Description, Start Time, End Time, Time Taken, Process ID, "
    "Current Thread\n";

TimeLog parsed_log(const std::string& text) {
  TimeLog log;
  read_time_log(text, "log", log);
  return log;
}

// Two ranks of HEPCNNB, stamps to 10 ms, durations finer, as the published tool writes them.
const std::string kHep = std::string(kHeader) + R"(
0, 0, train_loop, Training Iteration, 1530258000.00, 1530258010.00, 10.0, 7, <_MainThread(MainThread, started 469)>
0, 0, next, Call to Next Batch, 1530258000.00, 1530258004.00, 4.0, 7, <_MainThread(MainThread, started 469)>
0, 0, load, Load File, 1530258000.00, 1530258003.00, 3.0, 7, <_MainThread(MainThread, started 469)>
0, 0, read, HDF5 File Read, 1530258000.00, 1530258002.00, 2.0, 7, <_MainThread(MainThread, started 469)>
300, 0, after_save, Checkpoint Listener, 1530258009.00, 1530258010.00, 1.0, 7, <_MainThread(MainThread, started 469)>
0, 1, train_loop, Training Iteration, 1530258000.00, 1530258010.00, 10.004, 8, x
0, 1, next, Call to Next Batch, 1530258000.00, 1530258004.00, 4.0, 8, x
0, 1, load, Load File, 1530258001.00, 1530258004.00, 3.0, 8, x
0, 1, read, HDF5 File Read, 1530258001.00, 1530258003.00, 2.0, 8, x
)";

TEST(TimeLog, records_of_the_published_tool_are_read) {
  const TimeLog log = parsed_log(kHep);
  EXPECT_TRUE(log.bad.empty());
  ASSERT_EQ(log.records.size(), 9U);
  EXPECT_EQ(log.records[0].description, "Training Iteration");
  EXPECT_EQ(log.records[0].span, (TimeSpan{1530258000000000, 1530258010000000}));
  EXPECT_EQ(log.records[5].taken_us, 10004000);
}

TEST(TimeLog, bad_lines_are_numbered_and_the_others_are_used) {
  const TimeLog log = parsed_log(
      "Epoch,Rank\n"
      "0,0,a,Training Iteration,1.5,2.5,1,1,1\n"
      "0,0,a,Training Iteration,2.5,1.5,-1,1,1\n"
      "0,0,a,Training Iteration,x,1.5,1,1,1\n"
      "0,0,a,Training Iteration,nan,1.5,1,1,1\n"
      "\n"
      "0,0,a,Training It");
  EXPECT_EQ(log.records.size(), 1U);
  EXPECT_EQ(log.lines, 5);
  ASSERT_EQ(log.bad.size(), 4U);
  EXPECT_EQ(log.bad[0].number, 3);
  EXPECT_EQ(log.bad[0].reason, "ends before it starts");
  EXPECT_EQ(log.bad[1].reason, "start time 'x'");
  EXPECT_EQ(log.bad[3].number, 7);
}

TEST(TimeLog, nested_sums_are_divided_by_the_nodes_and_checkpoints_are_not) {
  const nlohmann::json figures = time_log_figures(parsed_log(kHep), 0);
  EXPECT_EQ(figures["nodes"], 2);
  ASSERT_TRUE(figures.contains("hepcnnb"));
  EXPECT_EQ(figures["hepcnnb"]["nested"], true);
  EXPECT_NEAR(figures["hepcnnb"]["read_s"].get<double>(), (2 + 2) / 2., 1e-9);
  EXPECT_NEAR(figures["hepcnnb"]["load_s"].get<double>(), (3 + 3 - 4) / 2., 1e-9);
  EXPECT_NEAR(figures["hepcnnb"]["checkpoint_s"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(figures["hepcnnb"]["training_s"].get<double>(), (20.004 - 6) / 2 - 1, 1e-9);
  EXPECT_NEAR(figures["hepcnnb"]["read_share"].get<double>(), 2 / (2 + 1 + 6.002 + 1), 1e-9);
  EXPECT_NEAR(time_log_figures(parsed_log(kHep), 4)["hepcnnb"]["read_s"].get<double>(), 1, 1e-9);
}

TEST(TimeLog, intervals_of_all_ranks_are_merged_by_epoch) {
  const TimeLog log = parsed_log(
      "-1,0,r,Time to Read Single Image,0,2,2,1,1\n"
      "-1,1,r,Time to Read Single Image,1,3,2,1,1\n"
      "-1,0,r,Time to Read Single Image,1.5,1.75,0.25,1,2\n"
      "-1,1,r,Time to Read Single Image,5,6,1,1,1\n"
      "0,0,t,Training Iteration,2,6,4,1,1\n"
      "0,1,t,Training Iteration,3,7,4,1,1\n"
      "1,0,t,Training Iteration,6,10,4,1,1\n");
  const nlohmann::json figures = time_log_figures(log, 0);
  ASSERT_TRUE(figures.contains("cdb"));
  EXPECT_NEAR(figures["cdb"]["read_s"].get<double>(), 4, 1e-9);
  EXPECT_NEAR(figures["cdb"]["training_s"].get<double>(), 5 + 4,
              1e-9);  // [6, 7] lies in two epochs
  EXPECT_NEAR(figures["cdb"]["index"].get<double>(), 4. / 13, 1e-9);
  EXPECT_NEAR(figures["cdb"]["run_s"].get<double>(), 10, 1e-9);
  EXPECT_NEAR(figures["cdb"]["read_share_of_run"].get<double>(), 0.4, 1e-9);
  // Iterations last from 2 to 10.
  EXPECT_NEAR(figures["cdb"]["read_alone_s"].get<double>(), 2, 1e-9);
  const nlohmann::json& component = figures["components"][0];
  EXPECT_EQ(component["description"], "Time to Read Single Image");
  EXPECT_EQ(component["rank"], 0);
  EXPECT_EQ(component["count"], 2);
  EXPECT_NEAR(component["sum_s"].get<double>(), 2.25, 1e-9);
  EXPECT_NEAR(component["union_s"].get<double>(), 2, 1e-9);
  EXPECT_TRUE(figures["overlap"].empty());
  EXPECT_EQ(figures["notes"].size(), 2U);
}

TEST(TimeLog, files_that_are_loaded_ahead_are_not_nested_and_a_note_says_so) {
  const std::string ahead =
      "-1,0,l,Load File,3,5,2,1,2\n"
      "-1,0,r,HDF5 File Read,3,4,1,1,2\n"
      "0,0,t,Training Iteration,1,11,10,1,1\n"
      "0,0,w,Call to Next Batch,1,3,2,1,1\n";
  const nlohmann::json figures = time_log_figures(parsed_log(ahead), 0);
  EXPECT_TRUE(figures["hepcnnb"]["nested"].get<bool>());
  ASSERT_EQ(figures["notes"].size(), 1U);
  EXPECT_TRUE(figures["notes"][0].get<std::string>().starts_with("files are loaded beside"));
  EXPECT_TRUE(time_log_figures(parsed_log(kHep), 0)["notes"].empty());
}

TEST(TimeLog, reading_is_hidden_behind_training_or_exposed_in_waits) {
  const TimeLog log = parsed_log(
      "-1,0,r,Time to Read Single Image,0,4,4,1,2\n"
      "-1,0,r,Time to Read Single Image,3,6,3,1,3\n"
      "-1,0,r,Time to Read Single Image,8.5,12,3.5,1,3\n"
      "0,0,t,Training Iteration,1,11,10,1,1\n"
      "0,0,w,Call to Next Batch,1,3,2,1,1\n"
      "7,0,c,Checkpoint Listener,9,10,1,1,1\n");
  const nlohmann::json of = time_log_figures(log, 0)["overlap"].at(0);
  EXPECT_EQ(of["rank"], 0);
  EXPECT_NEAR(of["read_s"].get<double>(), 6 + 3.5, 1e-9);
  EXPECT_NEAR(of["exposed_s"].get<double>(), 2, 1e-9);
  EXPECT_NEAR(of["checkpoint_s"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(of["hidden_s"].get<double>(), 3 + 0.5 + 1, 1e-9);
  EXPECT_NEAR(of["outside_s"].get<double>(), 1 + 1, 1e-9);
  EXPECT_NEAR(of["waited_s"].get<double>(), 2, 1e-9);
  EXPECT_NEAR(of["iterations_s"].get<double>(), 10, 1e-9);
  const nlohmann::json cdb = time_log_figures(log, 0)["cdb"];
  // Before the iteration, in its wait, and behind it.
  EXPECT_NEAR(cdb["read_alone_s"].get<double>(), 1 + 2 + 1, 1e-9);
  EXPECT_EQ(cdb["index_with_validation"], cdb["index"]);
  double parts = 0;
  for (const char* part : {"hidden_s", "exposed_s", "checkpoint_s", "outside_s"}) {
    parts += of[part].get<double>();
  }
  EXPECT_NEAR(parts, of["read_s"].get<double>(), 1e-9);
}

TEST(TimeLog, validation_is_among_the_iterations_of_a_second_index) {
  const TimeLog log = parsed_log(
      "0,0,t,Training Iteration,0,3,3,1,x\n"
      "0,0,v,Validation,3,9,6,1,x\n"
      "0,1,v,Validation,4,9,5,2,x\n"
      "-1,0,r,Time to Read Single Image,2,3,1,1,x\n");
  const nlohmann::json cdb = time_log_figures(log, 0)["cdb"];
  EXPECT_NEAR(cdb["index"].get<double>(), 1.0 / (1 + 3), 1e-9);
  EXPECT_NEAR(cdb["index_with_validation"].get<double>(), 1.0 / (1 + 9), 1e-9);
}

}  // namespace
}  // namespace stoker

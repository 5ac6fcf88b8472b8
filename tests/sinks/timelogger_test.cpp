#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <future>
#include <sstream>
#include <thread>

#include "io/core/error.h"
#include "tests/sinks/records.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Record {
  std::vector<std::string> fields;
  int64_t us(size_t field) const { return std::llround(1e6 * std::stod(fields[field])); }
  std::string description() const { return fields[3]; }
};

class TimeLoggerTest : public testing::Test {
 protected:
  void make(int64_t rank = 0, const std::string& options = "") {
    RunInfo info;
    info.rank = rank;
    setup.hub.run().describe(info);
    sink = setup.make("{type: timelogger" + options + "}");
  }
  // What the trainer's thread does, one after the other.
  void segment(const char* name, int64_t us, int64_t step) {
    setup.hub.tracer().record({name, "trainer", now, now + microseconds(us), 0, step});
    now += microseconds(us);
  }
  void step(int64_t number, int64_t epoch) {
    segment("data_wait", 300, number);
    segment("h2d", 20, number);
    segment("compute", 600, number);
    RunTotals totals;
    totals.steps = number;
    totals.epoch = epoch;
    setup.hub.run().publish(totals, {});
    segment("checkpoint_stall", 50, number + 1);
    segment("log", 30, number + 1);
  }
  std::string text(int64_t rank = 0) const {
    return setup.run.read("time_logger_output/" + std::to_string(rank));
  }
  std::vector<Record> records() const {
    std::vector<Record> result;
    std::istringstream lines(text());
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line,
              "Epoch,Rank,Action Name,Action Description,Start Time,End Time,Time Taken,"
              "Process ID,Current Thread");
    while (std::getline(lines, line)) {
      Record record;
      std::istringstream fields(line);
      for (std::string field; std::getline(fields, field, ',');) record.fields.push_back(field);
      EXPECT_EQ(record.fields.size(), 9u) << line;
      result.push_back(record);
    }
    return result;
  }
  // "epoch action after took" in microseconds after the begin.
  std::vector<std::string> of(const std::string& description) const {
    std::vector<std::string> result;
    const std::vector<Record> all = records();
    const int64_t zero = all.back().us(4);  // of "Training Loop"
    for (const Record& r : all) {
      if (r.description() != description) continue;
      result.push_back(r.fields[0] + " " + r.fields[2] + " " + std::to_string(r.us(4) - zero) +
                       " " + std::to_string(r.us(6)));
      EXPECT_EQ(r.us(5) - r.us(4), r.us(6));
    }
    return result;
  }

  SinkRig setup;
  // Whole microseconds, so that none is lost when they are rounded one by one.
  TimePoint now{std::chrono::ceil<microseconds>(Clock::now().time_since_epoch())};
  std::unique_ptr<MetricsSink> sink;
};

// Stamps are cut to microseconds after an offset with nanoseconds was added.
MATCHER_P4(Is, epoch, action, after, took, "") {
  std::istringstream text(arg);
  std::string e, a;
  int64_t x = 0, y = 0;
  text >> e >> a >> x >> y;
  return e == std::to_string(epoch) && a == action && std::abs(x - after) <= 1 &&
         std::abs(y - took) <= 1;
}

TEST_F(TimeLoggerTest, iterations_go_from_wait_to_wait_and_know_their_epoch) {
  make();
  now += std::chrono::hours(1);  // begins after the window was opened
  step(1, 0);
  step(2, 0);
  step(3, 1);
  sink->flush();
  EXPECT_THAT(
      of("Training Iteration"),
      ElementsAre(Is(0, "step", 0, 1000), Is(0, "step", 1000, 1000), Is(1, "step", 2000, 1000)));
  EXPECT_THAT(of("Call to Next Batch"),
              ElementsAre(Is(0, "data_wait", 0, 300), Is(0, "data_wait", 1000, 300),
                          Is(1, "data_wait", 2000, 300)));
  EXPECT_THAT(of("Checkpoint Listener"),
              ElementsAre(Is(1, "checkpoint_stall", 920, 50), Is(2, "checkpoint_stall", 1920, 50),
                          Is(3, "checkpoint_stall", 2920, 50)));
  EXPECT_THAT(of("Training Loop"), ElementsAre(Is(-1, "loop", 0, 3000)));
  EXPECT_THAT(setup.log, IsEmpty());
}

TEST_F(TimeLoggerTest, a_wait_with_a_pause_in_it_begins_one_iteration) {
  make();
  now += std::chrono::hours(1);
  step(1, 0);
  segment("data_wait", 200, 2);
  segment("paused", 5000, 2);
  step(2, 0);
  sink->flush();
  EXPECT_THAT(of("Training Iteration"),
              ElementsAre(Is(0, "step", 0, 1000), Is(0, "step", 1000, 6200)));
  EXPECT_THAT(of("Call to Next Batch"),
              ElementsAre(Is(0, "data_wait", 0, 300), Is(0, "data_wait", 1000, 5500)));
}

TEST_F(TimeLoggerTest, an_evaluation_is_in_no_iteration) {
  make();
  now += std::chrono::hours(1);
  step(1, 4);
  segment("eval", 500, 2);
  segment("checkpoint_stall", 40, 2);
  step(2, 5);
  sink->flush();
  EXPECT_THAT(of("Validation"), ElementsAre(Is(4, "eval", 1000, 500)));
  EXPECT_THAT(of("Training Iteration"),
              ElementsAre(Is(4, "step", 0, 1000), Is(5, "step", 1540, 1000)));
  EXPECT_THAT(of("Checkpoint Listener"),
              ElementsAre(Is(1, "checkpoint_stall", 920, 50), Is(1, "checkpoint_stall", 1500, 40),
                          Is(2, "checkpoint_stall", 2460, 50)));
}

TEST_F(TimeLoggerTest, reads_carry_their_thread_and_no_epoch) {
  make();
  int64_t reader = 0;
  std::thread([&] {
    reader = ::gettid();
    const TimePoint begin = Clock::now();
    setup.hub.train_loader().finished(Stage::read, begin, begin + microseconds(70), 1000);
    setup.hub.train_loader().finished(Stage::decode, begin, begin + microseconds(90));
    setup.hub.test_loader().finished(Stage::read, begin, begin + microseconds(80), 1000);
  }).join();
  sink->flush();
  const std::vector<Record> found = records();
  ASSERT_EQ(found.size(), 2u);
  for (const Record& r : found) {
    EXPECT_EQ(r.description(), "Time to Read Single Image");
    EXPECT_EQ(r.fields[0], "-1");
    EXPECT_EQ(r.fields[2], "read");
    EXPECT_EQ(r.fields[7], std::to_string(::getpid()));
    EXPECT_EQ(r.fields[8], std::to_string(reader));
  }
  EXPECT_EQ(found[0].fields[6].substr(0, 6), "0.0000");
}

TEST_F(TimeLoggerTest, reads_of_files_are_the_tier_s_outermost_and_what_is_around_them) {
  TierMeter& outer = setup.hub.add_tier("outer", "emulated", true);
  TierMeter& inner = setup.hub.add_tier("inner", "posix", false);
  make(0, ", reads: files");
  const TimePoint begin = Clock::now();
  inner.finished(TierOp::read, begin, 10);  // nobody's: an index, say
  const TimePoint sample = Clock::now();
  const TimePoint file = Clock::now();
  inner.finished(TierOp::read, Clock::now(), 10);
  const TimePoint read = outer.finished(TierOp::read, file, 10);
  setup.hub.train_loader().finished(Stage::read, sample, Clock::now(), 10);
  const TimePoint next = Clock::now();  // the next sample is in memory
  setup.hub.train_loader().finished(Stage::read, next, Clock::now(), 10);
  sink->flush();
  const std::vector<Record> found = records();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].description(), "HDF5 File Read");
  EXPECT_NEAR(found[0].us(6), (read - file) / microseconds(1), 1);
  EXPECT_EQ(found[1].description(), "Load File");
  EXPECT_LE(found[1].us(4), found[0].us(4));
  EXPECT_GE(found[1].us(5), found[0].us(5));
}

TEST_F(TimeLoggerTest, stamps_are_unix_time) {
  const std::chrono::duration<double> before = std::chrono::system_clock::now().time_since_epoch();
  make();
  const TimePoint begin = Clock::now();
  setup.hub.train_loader().finished(Stage::read, begin, begin + microseconds(70));
  sink->flush();
  const std::chrono::duration<double> after = std::chrono::system_clock::now().time_since_epoch();
  const Record record = records().at(0);
  const double start = std::stod(record.fields[4]);
  EXPECT_GE(start, before.count() - 1);
  EXPECT_LE(start, after.count() + 1);
  EXPECT_EQ(record.fields[4].size() - record.fields[4].find('.'), 7u);
}

TEST_F(TimeLoggerTest, a_checkpoint_s_parts_carry_their_step) {
  make();
  const TimePoint begin = Clock::now();
  CheckpointMeter& meter = setup.hub.checkpoints();
  meter.finished(CheckpointPart::restore, begin, begin + microseconds(10), 11);
  meter.finished(CheckpointPart::snapshot, begin, begin + microseconds(20), 12);
  meter.finished(CheckpointPart::write, begin, begin + microseconds(30), 12);
  meter.finished(CheckpointPart::drain, begin, begin + microseconds(40), 12);
  sink->flush();
  std::vector<std::string> found;
  for (const Record& r : records()) found.push_back(r.fields[0] + " " + r.description());
  EXPECT_THAT(found, ElementsAre("11 Checkpoint Restore", "12 Checkpoint Snapshot",
                                 "12 Checkpoint Write", "12 Checkpoint Drain"));
}

TEST_F(TimeLoggerTest, tiers_may_be_named_like_categories) {
  std::vector<TierMeter*> tiers;
  for (const char* name : {"trainer", "checkpoint", "loader"}) {
    tiers.push_back(&setup.hub.add_tier(name, "posix", false));
  }
  make();
  for (TierMeter* tier : tiers) {
    tier->finished(TierOp::read, Clock::now(), 10);
    tier->finished(TierOp::write, Clock::now(), 10);
  }
  sink->flush();
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(TimeLoggerTest, every_rank_has_its_file) {
  make(3);
  setup.hub.train_loader().finished(Stage::read, Clock::now(), Clock::now());
  sink->flush();
  EXPECT_THAT(text(3), HasSubstr("\n-1,3,read,Time to Read Single Image,"));
}

TEST_F(TimeLoggerTest, does_not_overwrite_the_file_of_another_run) {
  make();
  EXPECT_EQ(error_of([&] { make(); }),
            "create " + (setup.run / "time_logger_output/0") + ": File exists");
}

TEST_F(TimeLoggerTest, says_that_events_were_dropped) {
  make();
  std::promise<void> gate;
  const auto slow = setup.hub.tracer().subscribe(
      {}, [open = gate.get_future().share()](const TraceRow&) { open.wait(); });
  const TimePoint begin = Clock::now();
  while (setup.hub.tracer().dropped() == 0) {
    setup.hub.train_loader().finished(Stage::read, begin, begin);
  }
  gate.set_value();
  sink->flush();
  ASSERT_EQ(setup.log.size(), 1u);
  EXPECT_THAT(setup.log[0], HasSubstr("events that came too fast"));
}

}  // namespace
}  // namespace stoker

#include "io/profiler/view/file_lanes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "io/metrics/hub.h"
#include "io/metrics/sink.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using std::chrono::milliseconds;

FileIo used_file(std::string path, std::vector<IoSegment> reads,
                 std::vector<IoSegment> writes = {}) {
  FileIo file;
  file.path = std::move(path);
  file.reads = std::move(reads);
  file.writes = std::move(writes);
  return file;
}

void begin_at(TimePoint begin, IoProfile& profile) {
  profile.begin_monotonic_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(begin.time_since_epoch()).count();
}

std::string names_of(const std::vector<TraceRow>& rows) {
  std::string names;
  for (const TraceRow& row : rows) names += row.name + "\n";
  return names;
}

TEST(FileLanesTest, a_file_is_a_row_and_a_segment_an_event_of_it) {
  IoProfile profile;
  profile.files = {used_file("/data/b", {{0, 100, 0.2, 0.3}}, {{4096, 50, 0.1, 0.15}}),
                   used_file("/data/none", {}), used_file("/data/a", {{7, 0, 0.05, 0.06}})};
  const TimePoint begin = Clock::now();
  begin_at(begin, profile);
  const std::vector<TraceRow> rows = file_lanes(profile);
  EXPECT_EQ(names_of(rows), "/data/a\n/data/b\n");
  ASSERT_EQ(rows[1].events.size(), 2U);
  const TraceEvent& write = rows[1].events[0];
  EXPECT_STREQ(write.name, "write");
  EXPECT_STREQ(write.category, "file");
  EXPECT_EQ(write.begin, begin + milliseconds(100));
  EXPECT_EQ(write.end, begin + milliseconds(150));
  EXPECT_EQ(write.bytes, 50U);
  EXPECT_EQ(write.offset, 4096);
  EXPECT_STREQ(rows[1].events[1].name, "read");
}

TEST(FileLanesTest, reads_at_once_have_rows_of_their_own) {
  IoProfile profile;
  profile.files = {used_file(
      "/data/a",
      {{0, 1, 0.0, 0.4}, {1, 1, 0.1, 0.2}, {2, 1, 0.15, 0.5}, {3, 1, 0.2, 0.3}, {4, 1, 0.5, 0.6}})};
  const std::vector<TraceRow> rows = file_lanes(profile);
  EXPECT_EQ(names_of(rows), "/data/a\n/data/a (2)\n/data/a (3)\n");
  EXPECT_EQ(rows[0].events.size(), 2U);
  EXPECT_EQ(rows[1].events.size(), 2U);
  EXPECT_EQ(rows[2].events.size(), 1U);
  for (const TraceRow& row : rows) {
    for (size_t i = 1; i < row.events.size(); ++i) {
      EXPECT_LE(row.events[i - 1].end, row.events[i].begin);
    }
  }
}

TEST(FileLanesTest, sessions_put_a_file_into_one_row_of_the_trace) {
  const TemporaryDirectory directory;
  Hub hub;
  const Node node = parse_yaml("{type: trace}", "test.yaml");
  const auto sink = Registry<MetricsSink>::global()
                        .parse(Section(node, "", "sink", nullptr))
                        .create({directory.path(), [](const std::string&) {}, false, false, hub});
  IoProfile profile;
  profile.files = {used_file("/data/a", {{4096, 100, 0.001, 0.002}}),
                   used_file("/data/\xFF", {{0, 0, 0.002, 0.003}})};
  for (int session = 0; session < 2; ++session) {
    begin_at(Clock::now(), profile);
    hub.tracer().add(file_lanes(profile));
  }
  sink->flush();
  std::map<int64_t, std::string> names;
  std::map<std::string, nlohmann::json> arguments;
  int events = 0;
  for (const nlohmann::json& event : nlohmann::json::parse(directory.read("trace.json"))) {
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
    if (event.at("ph") != "X") continue;
    ++events;
    EXPECT_EQ(event.at("cat"), "file");
    arguments[names.at(event.at("tid"))] = event.at("args");
  }
  EXPECT_EQ(events, 4);
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(arguments.at("/data/a"), nlohmann::json({{"offset", 4096}, {"bytes", 100}}));
  EXPECT_EQ(arguments.at("/data/\\xff"), nlohmann::json({{"offset", 0}, {"bytes", 0}}));
}

}  // namespace
}  // namespace stoker

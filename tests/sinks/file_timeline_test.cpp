#include "io/sinks/file_timeline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

#include "io/core/wire/protobuf.h"

namespace stoker {
namespace {

// The fields of a message, by number; of a number that stands several times, all of them.
std::multimap<uint32_t, WireField> fields_of(Bytes message) {
  std::multimap<uint32_t, WireField> fields;
  WireReader reader(message);
  while (const auto field = reader.next()) fields.emplace(field->number, *field);
  return fields;
}

std::string text_of(const WireField& field) {
  return {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
}

uint64_t value_of(const std::multimap<uint32_t, WireField>& fields, uint32_t number) {
  return fields.find(number)->second.value;
}

// "NAME OFFSET+DURATION ps, STATISTIC=VALUE ...", line by line under the line's name.
std::map<std::string, std::vector<std::string>> lines_of(const std::string& xplane) {
  const auto space = fields_of({reinterpret_cast<const uint8_t*>(xplane.data()), xplane.size()});
  const auto plane = fields_of(space.find(1)->second.bytes);
  EXPECT_EQ(text_of(plane.find(2)->second), "/host:CPU");
  const auto named = [&](uint32_t map) {
    std::map<uint64_t, std::string> names;
    for (auto [at, end] = plane.equal_range(map); at != end; ++at) {
      const auto entry = fields_of(at->second.bytes);
      const auto meta = fields_of(entry.find(2)->second.bytes);
      EXPECT_EQ(value_of(entry, 1), value_of(meta, 1));
      names[value_of(entry, 1)] = text_of(meta.find(2)->second);
    }
    return names;
  };
  const auto events = named(4), statistics = named(5);
  std::map<std::string, std::vector<std::string>> lines;
  for (auto [at, end] = plane.equal_range(3); at != end; ++at) {
    const auto line = fields_of(at->second.bytes);
    auto& list = lines[text_of(line.find(2)->second)];
    for (auto [each, last] = line.equal_range(4); each != last; ++each) {
      const auto event = fields_of(each->second.bytes);
      std::string text = events.at(value_of(event, 1)) + " " + std::to_string(value_of(event, 2)) +
                         "+" + std::to_string(value_of(event, 3));
      for (auto [stat, beyond] = event.equal_range(4); stat != beyond; ++stat) {
        const auto fields = fields_of(stat->second.bytes);
        text +=
            " " + statistics.at(value_of(fields, 1)) + "=" + std::to_string(value_of(fields, 4));
      }
      list.push_back(text);
    }
  }
  return lines;
}

std::vector<TraceRow> rows_since(TimePoint begin) {
  const auto at = [&](int us) { return begin + std::chrono::microseconds(us); };
  return {{kFileRow,
           "/data/a",
           {{"read", "file", at(10), at(12), 100, -1, nullptr, 0},
            {"read", "file", at(20), at(21), 7, -1, nullptr, 100}}},
          {kFileRow, "/data/b", {{"fwrite", "file", at(-5), at(-5), 5, -1, nullptr, -1}}}};
}

using Lines = std::map<std::string, std::vector<std::string>>;

TEST(FileTimeline, has_a_line_for_each_file_and_events_from_the_begin_on) {
  const TimePoint begin = Clock::now();
  const FileTimeline timeline = file_timeline(rows_since(begin), begin, "node7", 100);
  EXPECT_EQ(timeline.left_out, 0U);
  EXPECT_EQ(lines_of(timeline.xplane), (Lines{{"a  /data",
                                               {"read 10000000+2000000 bytes=100 offset=0",
                                                "read 20000000+1000000 bytes=7 offset=100"}},
                                              {"b  /data", {"fwrite 0+0 bytes=5"}}}));
}

TEST(FileTimeline, of_too_many_events_it_has_the_first_and_says_so) {
  const TimePoint begin = Clock::now();
  const FileTimeline timeline = file_timeline(rows_since(begin), begin, "node7", 1);
  EXPECT_EQ(timeline.left_out, 2U);
  EXPECT_EQ(lines_of(timeline.xplane),
            (Lines{{"a  /data", {"read 10000000+2000000 bytes=100 offset=0"}}}));
}

}  // namespace
}  // namespace stoker

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>

#include "io/core/crc32c.h"
#include "tests/sinks/records.h"

namespace stoker {
namespace {

// A reader of our own, written from the format; tensorboard_run_test.py uses TensorBoard's.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}
  bool ended() const { return at_ == text_.size(); }
  std::string take(size_t bytes) {
    if (text_.size() - at_ < bytes) throw std::runtime_error("the data ends early");
    at_ += bytes;
    return text_.substr(at_ - bytes, bytes);
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = number<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }

 private:
  const std::string text_;
  size_t at_ = 0;
};

struct Histogram {
  double least = 0, most = 0, all = 0;
  std::vector<double> limits, counts;
};

struct Event {
  double seconds = 0;
  int64_t step = 0;
  std::string version;
  std::map<std::string, float> scalars;
  std::map<std::string, Histogram> histograms;
};

Histogram read_histogram(const std::string& text) {
  Histogram result;
  const auto numbers = [](const std::string& packed, std::vector<double>& list) {
    for (Reader in(packed); !in.ended();) list.push_back(in.number<double>());
  };
  for (Reader in(text); !in.ended();) {
    const auto key = in.varint();
    if (key == (6 << 3 | 2)) {
      numbers(in.take(in.varint()), result.limits);
    } else if (key == (7 << 3 | 2)) {
      numbers(in.take(in.varint()), result.counts);
    } else if (key == (1 << 3 | 1)) {
      result.least = in.number<double>();
    } else if (key == (2 << 3 | 1)) {
      result.most = in.number<double>();
    } else if (key == (3 << 3 | 1)) {
      result.all = in.number<double>();
    } else {
      throw std::runtime_error("a field that is no histogram's");
    }
  }
  return result;
}

void read_value(const std::string& text, Event& event) {
  std::string tag;
  for (Reader in(text); !in.ended();) {
    const auto key = in.varint();
    if (key == (1 << 3 | 2)) {
      tag = in.take(in.varint());
    } else if (key == (2 << 3 | 5)) {
      event.scalars[tag] = in.number<float>();
    } else if (key == (5 << 3 | 2)) {
      event.histograms[tag] = read_histogram(in.take(in.varint()));
    } else {
      throw std::runtime_error("a field that is no value's");
    }
  }
}

Event read_event(const std::string& text) {
  Event event;
  for (Reader in(text); !in.ended();) {
    const auto key = in.varint();
    if (key == (1 << 3 | 1)) {
      event.seconds = in.number<double>();
    } else if (key == (2 << 3 | 0)) {
      event.step = static_cast<int64_t>(in.varint());
    } else if (key == (3 << 3 | 2)) {
      event.version = in.take(in.varint());
    } else if (key == (5 << 3 | 2)) {
      for (Reader summary(in.take(in.varint())); !summary.ended();) {
        EXPECT_EQ(summary.varint(), 1u << 3 | 2);
        read_value(summary.take(summary.varint()), event);
      }
    } else {
      throw std::runtime_error("a field that is no event's");
    }
  }
  return event;
}

uint32_t masked(const std::string& text) {
  const uint32_t crc = crc32c({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::vector<Event> events(const SinkRig& setup) {
  std::string name;
  for (const auto& entry : std::filesystem::directory_iterator(setup.run.path())) {
    if (entry.is_regular_file()) name = entry.path().filename().string();
  }
  EXPECT_TRUE(name.starts_with("events.out.tfevents.")) << name;
  std::vector<Event> result;
  for (Reader in(setup.run.read(name)); !in.ended();) {
    const std::string length = in.take(8);
    EXPECT_EQ(in.number<uint32_t>(), masked(length));
    const std::string event = in.take(Reader(length).number<uint64_t>());
    EXPECT_EQ(in.number<uint32_t>(), masked(event));
    result.push_back(read_event(event));
  }
  return result;
}

TEST(TensorBoard, begins_with_the_version_of_the_format) {
  SinkRig setup;
  setup.make("{type: tensorboard}");
  const std::vector<Event> found = events(setup);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].version, "brain.Event:2");
  EXPECT_TRUE(found[0].scalars.empty());
}

TEST(TensorBoard, writes_every_report_as_scalars) {
  SinkRig setup;
  const auto sink = setup.make("{type: tensorboard}");
  constexpr int64_t kStep = 1000000;  // of three bytes
  write(*sink, full_record(kStep));
  const std::vector<Event> found = events(setup);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].step, kStep);
  EXPECT_GE(found[1].seconds, found[0].seconds);
  const std::map<std::string, float> expected = {{"loss", 4.5f},
                                                 {"learning_rate", 0.0625f},
                                                 {"epoch", 2.f},
                                                 {"images_per_s", 80.f},
                                                 {"evaluation/accuracy/top1", 0.5f},
                                                 {"io_share", 0.25f},
                                                 {"device/idle_share", 0.375f},
                                                 {"device/idle_share_by_cause/host", 0.125f},
                                                 {"segments_share/data_wait", 0.25f},
                                                 {"segments_share/compute", 0.75f},
                                                 {"checkpoints/saved", 3.f},
                                                 {"checkpoints/steps_at_risk", 3.f}};
  for (const auto& [tag, value] : expected) {
    ASSERT_TRUE(found[1].scalars.contains(tag)) << tag;
    EXPECT_EQ(found[1].scalars.at(tag), value) << tag;
  }
}

TEST(TensorBoard, has_no_point_for_what_was_not_measured) {
  SinkRig setup;
  write(*setup.make("{type: tensorboard}"), bare_record(7));
  const auto scalars = events(setup).at(1).scalars;
  EXPECT_EQ(scalars.at("steps"), 7.f);
  for (const char* tag : {"loss", "learning_rate", "images_per_s", "io_share", "checkpoints/saved"})
    EXPECT_FALSE(scalars.contains(tag)) << tag;
}

TEST(TensorBoard, a_loss_that_is_no_number_stays_so) {
  SinkRig setup;
  RunRecord record = bare_record(1);
  record.run.loss = std::numeric_limits<double>::quiet_NaN();
  write(*setup.make("{type: tensorboard}"), record);
  EXPECT_TRUE(std::isnan(events(setup).at(1).scalars.at("loss")));
}

// A session with a line for /data/a, where two reads took 2 us and 1 us.
void end_session(Hub& hub, const std::string& json) {
  const TimePoint begin = Clock::now();
  const auto at = [&](int us) { return begin + std::chrono::microseconds(us); };
  const std::vector<TraceRow> rows{
      {kFileRow,
       "/data/a",
       {{"read", "file", at(10), at(12), 100, -1, nullptr, 0},
        {"read", "file", at(20), at(21), 7, -1, nullptr, 100}}},
      {kFileRow, "/data/b", {{"fwrite", "file", at(30), at(40), 5, -1, nullptr, -1}}}};
  hub.io_sessions().ended(
      {.name = "io_profile-5", .json = json, .step = 9, .begin = begin, .rows = rows});
}

TEST(TensorBoard, a_session_of_the_profiler_has_its_figures_at_the_step_where_it_ended) {
  SinkRig setup;
  const auto sink = setup.make("{type: tensorboard}");
  end_session(setup.hub, R"({"job": {"uid": 7}, "first_step": 5, "files": [{"bytes": 1}],
      "read": {"mb_per_s": 2.5, "sizes": {"bounds": [100, 1000], "counts": [4, 0, 2]}},
      "file_sizes": {"bounds": [100, 1000], "counts": [0, 3, 0]}, "remarks": ["x"]})");
  const Event event = events(setup).at(1);
  EXPECT_EQ(event.step, 9);
  EXPECT_EQ(event.scalars, (std::map<std::string, float>{{"io_profile/read/mb_per_s", 2.5f}}));
  ASSERT_EQ(event.histograms.size(), 2U);
  const Histogram& reads = event.histograms.at("io_profile/read/sizes_log10");
  EXPECT_EQ(reads.limits, (std::vector<double>{2, 3, 10}));
  EXPECT_EQ(reads.counts, (std::vector<double>{4, 0, 2}));
  EXPECT_EQ(reads.all, 6);
  const Histogram& files = event.histograms.at("io_profile/file_sizes_log10");
  EXPECT_EQ(files.least, 2);
  EXPECT_EQ(files.most, 3);
  EXPECT_EQ(files.counts, std::vector<double>{3});
}

TEST(TensorBoard, a_session_that_cannot_be_written_is_told_and_ends_nothing) {
  SinkRig setup;
  const auto sink = setup.make("{type: tensorboard}");
  setup.run.write("plugins", "a file where a directory has to be");
  end_session(setup.hub, "{}");
  ASSERT_EQ(setup.failures.size(), 1U);
  EXPECT_NE(setup.failures[0].find("plugins"), std::string::npos) << setup.failures[0];
  EXPECT_EQ(setup.hub.io_sessions().newest(), "{}");
}

TEST(TensorBoard, a_sink_that_is_gone_gets_no_session) {
  SinkRig setup;
  setup.make("{type: tensorboard}");
  end_session(setup.hub, "{}");
  EXPECT_EQ(events(setup).size(), 1U);
}

TEST(TensorBoard, records_are_whole_in_the_file_after_every_report) {
  SinkRig setup;
  const auto sink = setup.make("{type: tensorboard}");
  for (int64_t step = 1; step <= 3; ++step) {
    write(*sink, full_record(step));
    EXPECT_EQ(events(setup).back().step, step);
  }
}

}  // namespace
}  // namespace stoker

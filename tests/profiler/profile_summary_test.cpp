#include "io/profiler/profile_summary.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <limits>
#include <string>

namespace stoker {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using P = PosixCounters;
using S = StdioCounters;

FileIo of_posix(const std::string& path) {
  FileIo file;
  file.path = path;
  file.posix.emplace();
  return file;
}

FileIo of_stdio(const std::string& path) {
  FileIo file;
  file.path = path;
  file.stdio.emplace();
  return file;
}

// Ten seconds. /data/small is read in two reads, /data/large in four; /ckpt/model is written.
IoProfile ten_seconds() {
  IoProfile profile;
  profile.begin_ns = 1'000'000'000;
  profile.end_ns = 11'000'000'000;
  FileIo small = of_posix("/data/small");
  auto& of_small = small.posix->counters;
  of_small[P::OPENS] = 1;
  of_small[P::READS] = 2;
  of_small[P::BYTES_READ] = 88'000;
  of_small[P::MAX_BYTE_READ] = 87'999;
  of_small[P::SEQ_READS] = of_small[P::CONSEC_READS] = 1;
  of_small[P::SIZE_READ_0_100] = of_small[P::SIZE_READ_0_100 + 3] = 1;
  of_small[P::ACCESS1_ACCESS] = 88'000;
  of_small[P::ACCESS1_COUNT] = 1;
  small.posix->times[P::READ_TIME] = 1;
  small.reads = {{0, 88'000, 1, 2}, {88'000, 0, 2, 2}};
  FileIo large = of_posix("/data/large");
  auto& of_large = large.posix->counters;
  of_large[P::OPENS] = 1;
  of_large[P::READS] = 4;
  of_large[P::BYTES_READ] = 4 << 20;
  of_large[P::MAX_BYTE_READ] = (4 << 20) - 1;
  of_large[P::SIZE_READ_0_100 + 4] = 4;
  of_large[P::ACCESS1_ACCESS] = 1 << 20;
  of_large[P::ACCESS1_COUNT] = 4;
  of_large[P::STRIDE1_STRIDE] = 512;
  of_large[P::STRIDE1_COUNT] = 2;
  large.posix->times[P::READ_TIME] = 3;
  large.posix->times[P::META_TIME] = 0.5;
  for (int64_t i = 0; i < 4; ++i) {
    const auto begin = 1.5 + static_cast<double>(i);
    large.reads.push_back({i << 20, 1 << 20, begin, begin + 0.75});
  }
  FileIo model = of_stdio("/ckpt/model");
  auto& of_model = model.stdio->counters;
  of_model[S::OPENS] = 1;
  of_model[S::WRITES] = 3;
  of_model[S::FLUSHES] = 1;
  of_model[S::BYTES_WRITTEN] = 3000;
  of_model[S::MAX_BYTE_WRITTEN] = 2999;
  model.stdio->times[S::WRITE_TIME] = 5;
  profile.files = {small, large, model};
  return profile;
}

TEST(ProfileSummary, sums_each_module_over_its_files) {
  const ProfileSummary sum = summarize(ten_seconds());
  EXPECT_EQ(sum.seconds, 10);
  EXPECT_EQ(sum.posix.files, 2);
  EXPECT_EQ(sum.posix.opens, 2);
  EXPECT_EQ(sum.posix.reads, 6);
  EXPECT_EQ(sum.posix.bytes_read, 88'000 + (4 << 20));
  EXPECT_EQ(sum.posix.read_s, 4);
  EXPECT_EQ(sum.posix.meta_s, 0.5);
  EXPECT_EQ(sum.stdio.files, 1);
  EXPECT_EQ(sum.stdio.writes, 3);
  EXPECT_EQ(sum.stdio.flushes, 1);
  EXPECT_EQ(sum.stdio.bytes_written, 3000);
  EXPECT_EQ(sum.sequential_reads, 1);
  EXPECT_EQ(sum.consecutive_reads, 1);
}

TEST(ProfileSummary, bandwidth_is_both_modules_bytes_over_the_profiles_time) {
  const ProfileSummary sum = summarize(ten_seconds());
  EXPECT_THAT(sum.read_mb_per_s(), DoubleNear(0.4282304, 1e-9));
  EXPECT_THAT(sum.write_mb_per_s(), DoubleNear(0.0003, 1e-9));
  EXPECT_EQ(summarize(IoProfile{}).read_mb_per_s(), 0);
}

TEST(ProfileSummary, histograms_are_of_reads_and_of_files) {
  const ProfileSummary sum = summarize(ten_seconds());
  EXPECT_THAT(sum.read_sizes, ElementsAre(1, 0, 0, 1, 4, 0, 0, 0, 0, 0));
  EXPECT_THAT(sum.file_sizes, ElementsAre(0, 0, 1, 1, 0, 1, 0, 0, 0, 0));
}

TEST(ProfileSummary, histograms_of_requests_have_those_of_streams) {
  IoProfile profile = ten_seconds();
  profile.stream_sizes.emplace();
  profile.stream_sizes->reads[3] = 5;
  profile.stream_sizes->writes[1] = 3;
  const ProfileSummary sum = summarize(profile);
  EXPECT_THAT(sum.read_sizes, ElementsAre(1, 0, 0, 6, 4, 0, 0, 0, 0, 0));
  EXPECT_THAT(sum.write_sizes, ElementsAre(0, 3, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(ProfileSummary, common_values_are_summed_over_files) {
  IoProfile profile = ten_seconds();
  profile.files.push_back(profile.files[1]);
  const ProfileSummary sum = summarize(profile);
  EXPECT_THAT(sum.access_sizes, ElementsAre(CommonValue{1 << 20, 8}, CommonValue{88'000, 1}));
  EXPECT_THAT(sum.strides, ElementsAre(CommonValue{512, 4}));
}

TEST(ProfileSummary, time_under_way_is_the_union_of_the_segments) {
  IoProfile profile = ten_seconds();
  // 1 to 2.25, 2.5 to 3.25, 3.5 to 4.25, 4.5 to 5.25.
  EXPECT_THAT(summarize(profile).reading_s, DoubleNear(3.5, 1e-9));
  EXPECT_LT(summarize(profile).writing_s, 0);  // those of a stream are missing
  profile.under_way = {1, 5};                  // the log says so
  EXPECT_THAT(summarize(profile).reading_s, DoubleNear(3.5, 1e-9));
  EXPECT_EQ(summarize(profile).writing_s, 5);
  profile.under_way = {};
  profile.files[2].stream_writes = {{0, 1000, 1, 2}, {1000, 1000, 1.5, 2.5}, {2000, 1000, 4, 5}};
  EXPECT_THAT(summarize(profile).writing_s, DoubleNear(2.5, 1e-9));
  profile.files[0].reads.pop_back();
  EXPECT_LT(summarize(profile).reading_s, 0);  // one is missing
  profile = ten_seconds();
  profile.dropped.segments_partial = true;
  EXPECT_LT(summarize(profile).reading_s, 0);
}

TEST(FileBytes, is_as_far_as_it_was_read_or_written) {
  const IoProfile profile = ten_seconds();
  EXPECT_EQ(file_bytes(profile.files[0]), 88'000);
  EXPECT_EQ(file_bytes(profile.files[2]), 3000);
  FileIo file = of_posix("/data/a");
  EXPECT_EQ(file_bytes(file), 0);
  file.posix->counters[P::BYTES_READ] = 1;  // byte 0
  EXPECT_EQ(file_bytes(file), 1);
}

TEST(FileRows, the_one_with_the_most_time_comes_first) {
  const IoProfile profile = ten_seconds();
  const auto rows = file_rows(profile);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].file->path, "/ckpt/model");
  EXPECT_EQ(rows[0].bytes_written, 3000);
  EXPECT_EQ(rows[0].seconds(), 5);
  EXPECT_EQ(rows[1].file->path, "/data/large");
  EXPECT_EQ(rows[1].reads, 4);
  EXPECT_EQ(rows[2].bytes, 88'000);
}

TEST(FileRows, a_stream_whose_descriptor_was_asked_for_has_the_bytes_of_both_modules) {
  IoProfile profile = ten_seconds();
  FileIo& model = profile.files[2];
  model.posix.emplace();
  model.posix->counters[P::OPENS] = 1;
  model.posix->counters[P::READS] = 1;
  model.posix->counters[P::BYTES_READ] = 7;
  const auto rows = file_rows(profile);
  EXPECT_EQ(rows[0].file, &model);
  EXPECT_EQ(rows[0].opens, 2);
  EXPECT_EQ(rows[0].writes, 3);
  EXPECT_EQ(rows[0].bytes_written, 3000);
  EXPECT_EQ(rows[0].bytes_read, 7);
  EXPECT_EQ(directory_rows(profile)[1].bytes_written, 3000);
}

TEST(DirectoryRows, have_the_bytes_of_the_files_in_them) {
  const auto rows = directory_rows(ten_seconds());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].path, "/data");
  EXPECT_EQ(rows[0].files, 2);
  EXPECT_EQ(rows[0].bytes_read, 88'000 + (4 << 20));
  EXPECT_EQ(rows[0].seconds, 4.5);
  EXPECT_EQ(rows[1].path, "/ckpt");
}

TEST(BandwidthOverTime, spreads_each_segment_over_its_time) {
  IoProfile profile = ten_seconds();
  profile.files.resize(1);
  profile.files[0].reads = {{0, 4000, 1, 5}, {0, 10, 9, 9}, {0, 1, 10, 10}};
  profile.files[0].writes = {{0, 100, 0, 10}};
  const auto bins = bandwidth_over_time(profile, 5);
  ASSERT_EQ(bins.size(), 5u);
  const double read[] = {1000, 2000, 1000, 0, 11};
  for (size_t i = 0; i < bins.size(); ++i) {
    EXPECT_THAT(bins[i].read_bytes, DoubleNear(read[i], 1e-6)) << i;
    EXPECT_THAT(bins[i].written_bytes, DoubleNear(20, 1e-6)) << i;
  }
  EXPECT_EQ(bins[1].begin_s, 2);
  EXPECT_EQ(bins[1].end_s, 4);
}

TEST(BandwidthOverTime, has_the_bytes_of_streams) {
  IoProfile profile = ten_seconds();
  profile.files.erase(profile.files.begin(), profile.files.begin() + 2);
  EXPECT_TRUE(course_lacks_streams(profile));
  EXPECT_THAT(bandwidth_over_time(profile, 5), IsEmpty());
  profile.files[0].stream_writes = {{0, 3000, 1, 5}};
  EXPECT_FALSE(course_lacks_streams(profile));
  const auto bins = bandwidth_over_time(profile, 5);
  ASSERT_EQ(bins.size(), 5u);
  EXPECT_THAT(bins[0].written_bytes, DoubleNear(750, 1e-6));
  EXPECT_THAT(bins[1].written_bytes, DoubleNear(1500, 1e-6));
}

TEST(BandwidthOverTime, is_by_the_logs_heat_maps_where_it_has_no_segments) {
  IoProfile profile = ten_seconds();
  for (FileIo& file : profile.files) file.reads.clear();
  profile.posix_heat[0] = {4, {100, 0, 10}, {0, 0, 0}};  // to 12 s, of which there are ten
  profile.stdio_heat[0] = {4, {0, 0, 0}, {0, 200, 0}};
  profile.stdio_heat[1] = {4, {0, 0, 0}, {0, 200, 0}};
  const auto bins = bandwidth_over_time(profile, 5);
  const double read[] = {50, 50, 0, 0, 10}, written[] = {0, 0, 200, 200, 0};
  ASSERT_EQ(bins.size(), 5u);
  for (size_t i = 0; i < bins.size(); ++i) {
    EXPECT_THAT(bins[i].read_bytes, DoubleNear(read[i], 1e-6)) << i;
    EXPECT_THAT(bins[i].written_bytes, DoubleNear(written[i], 1e-6)) << i;
  }
  EXPECT_FALSE(course_lacks_streams(profile));
}

TEST(BandwidthOverTime, without_segments_or_time_there_is_none) {
  IoProfile profile = ten_seconds();
  profile.end_ns = profile.begin_ns;
  EXPECT_THAT(bandwidth_over_time(profile, 5), IsEmpty());
  EXPECT_THAT(bandwidth_over_time(IoProfile{}, 5), IsEmpty());
}

// A log is a stranger's.
TEST(ProfileSummary, numbers_that_cannot_be_do_no_harm) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  IoProfile profile = ten_seconds();
  for (const int64_t value : {kLargest, kLargest, kSmallest}) {
    FileIo file = of_posix("");
    file.stdio.emplace();
    file.posix->counters.fill(value);
    file.posix->times.fill(kNone);
    file.stdio->counters.fill(value);
    file.stdio->times.fill(-kEndless);
    file.reads = {
        {value, value, kNone, kEndless}, {value, value, 9, -9}, {value, value, -1e300, 1e300}};
    profile.stdio_heat[value] = {1e-300, {value, value}, {value}};
    profile.posix_heat[value] = {1e300, {value, value}, {value}};
    profile.files.push_back(file);
  }
  EXPECT_EQ(summarize(profile).posix.files, 5);
  EXPECT_EQ(file_rows(profile).size(), 6u);
  EXPECT_FALSE(directory_rows(profile).empty());
  EXPECT_EQ(bandwidth_over_time(profile, 7).size(), 7u);
  profile.begin_ns = kSmallest;
  profile.end_ns = kLargest;
  EXPECT_EQ(bandwidth_over_time(profile, 7).size(), 7u);
}

}  // namespace
}  // namespace stoker

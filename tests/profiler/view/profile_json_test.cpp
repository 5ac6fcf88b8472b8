#include "io/profiler/view/profile_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace stoker {
namespace {

using nlohmann::json;

// Ten seconds, in which /data/a was read twice and /out/b was written once.
IoProfile viewed_profile() {
  IoProfile profile;
  profile.begin_ns = 1'500'000'000'000'000'000;
  profile.end_ns = profile.begin_ns + 10'000'000'000;
  profile.job_id = 7;
  FileIo& read = profile.files.emplace_back();
  read.id = 1;
  read.path = "/data/a";
  PosixCounters& in = read.posix.emplace();
  in.counters[PosixCounters::OPENS] = 1;
  in.counters[PosixCounters::READS] = 4;
  in.counters[PosixCounters::BYTES_READ] = 40'000'000;
  in.counters[PosixCounters::MAX_BYTE_READ] = 39'999'999;
  in.counters[PosixCounters::SEQ_READS] = 3;
  in.counters[PosixCounters::CONSEC_READS] = 2;
  in.counters[PosixCounters::SIZE_READ_0_100 + 6] = 4;
  in.counters[PosixCounters::ACCESS1_ACCESS] = 10'000'000;
  in.counters[PosixCounters::ACCESS1_COUNT] = 4;
  in.times[PosixCounters::READ_TIME] = 2.5;
  in.times[PosixCounters::META_TIME] = 0.5;
  read.reads = {{0, 10'000'000, 0, 0.5},
                {10'000'000, 10'000'000, 0.5, 1},
                {20'000'000, 10'000'000, 1, 1.5},
                {30'000'000, 10'000'000, 1.5, 2}};
  FileIo& written = profile.files.emplace_back();
  written.id = 2;
  written.path = "/out/b";
  StdioCounters& out = written.stdio.emplace();
  out.counters[StdioCounters::WRITES] = 5;
  out.counters[StdioCounters::BYTES_WRITTEN] = 500;
  out.counters[StdioCounters::MAX_BYTE_WRITTEN] = 499;
  out.times[StdioCounters::WRITE_TIME] = 1;
  return profile;
}

TEST(ProfileJsonTest, rates_are_of_the_session_and_of_the_time_under_way) {
  const json view = profile_json(viewed_profile());
  EXPECT_DOUBLE_EQ(view.at("job").at("seconds"), 10);
  EXPECT_DOUBLE_EQ(view.at("read").at("mb_per_s"), 4);
  EXPECT_DOUBLE_EQ(view.at("read").at("under_way_s"), 2);
  EXPECT_DOUBLE_EQ(view.at("read").at("under_way_mb_per_s"), 20);
  EXPECT_DOUBLE_EQ(view.at("time_share").at("read"), 0.25);
  EXPECT_DOUBLE_EQ(view.at("time_share").at("write"), 0.1);
  EXPECT_DOUBLE_EQ(view.at("time_share").at("meta"), 0.05);
}

TEST(ProfileJsonTest, waits_for_emulated_tiers_are_in_the_shares_of_time_and_in_no_file) {
  IoProfile profile = viewed_profile();
  profile.emulated = {{"data", 5, 0, 1, 40'000'000, 0, 8, 0}, {"slow", 0, 2, 0}};
  const json view = profile_json(profile);
  EXPECT_DOUBLE_EQ(view.at("time_share").at("read"), 0.25 + 0.5);
  EXPECT_DOUBLE_EQ(view.at("time_share").at("write"), 0.1 + 0.2);
  EXPECT_DOUBLE_EQ(view.at("time_share").at("meta"), 0.05 + 0.1);
  EXPECT_DOUBLE_EQ(view.at("files")[0].at("seconds"), 3);
  EXPECT_EQ(view.at("emulated")[1], json({{"tier", "slow"},
                                          {"read_s", 0.0},
                                          {"write_s", 2.0},
                                          {"meta_s", 0.0},
                                          {"bytes_read", 0},
                                          {"bytes_written", 0},
                                          {"reading_s", 0.0},
                                          {"writing_s", 0.0}}));
  EXPECT_DOUBLE_EQ(view.at("emulated")[0].at("read_mb_per_s"), 5);
  // The calls took 2 s, and their callers waited for 8.
  EXPECT_DOUBLE_EQ(view.at("read").at("under_way_s"), 8);
  EXPECT_DOUBLE_EQ(view.at("read").at("under_way_mb_per_s"), 5);
  const std::vector<std::string> remarks = profile_remarks(profile);
  constexpr std::string_view kSlow =
      "tier 'slow' is EMULATED: its times are calculated, not measured; the 2.00 s ";
  EXPECT_TRUE(remarks[0].starts_with("tier 'data' is EMULATED: its times are calculated"));
  EXPECT_TRUE(remarks[1].starts_with(kSlow)) << remarks[1];
}

TEST(ProfileRemarksTest, of_a_tier_whose_calls_themselves_take_the_models_time_no_wait_is_said) {
  IoProfile profile = viewed_profile();
  profile.emulated = {{"data", 0, 0, 0, 40'000'000, 0, 2, 0}};
  EXPECT_EQ(profile_remarks(profile)[0],
            "tier 'data' is EMULATED: its times are calculated, not measured");
}

TEST(ProfileJsonTest, shares_of_order_are_of_all_operations) {
  const json view = profile_json(viewed_profile());
  EXPECT_DOUBLE_EQ(view.at("read").at("sequential_share"), 0.75);
  EXPECT_DOUBLE_EQ(view.at("read").at("consecutive_share"), 0.5);
  EXPECT_EQ(view.at("write").at("operations"), 5);  // of a stream, whose order nobody counts
  EXPECT_EQ(view.at("write").at("bytes"), 500);
  EXPECT_FALSE(view.at("write").contains("sequential_share"));
}

TEST(ProfileJsonTest, histograms_have_darshans_bounds_and_one_count_more) {
  const json view = profile_json(viewed_profile());
  const json& sizes = view.at("read").at("sizes");
  EXPECT_EQ(sizes.at("bounds").size(), 9U);
  EXPECT_EQ(sizes.at("bounds")[1], 1024);
  EXPECT_EQ(sizes.at("counts"), json({0, 0, 0, 0, 0, 0, 4, 0, 0, 0}));
  EXPECT_EQ(view.at("file_sizes").at("counts"), json({0, 1, 0, 0, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(view.at("access_sizes"), json::array({{{"value", 10'000'000}, {"count", 4}}}));
}

TEST(ProfileJsonTest, files_stand_in_the_order_of_the_time_that_they_took) {
  const json view = profile_json(viewed_profile(), {.files = 1});
  EXPECT_EQ(view.at("files_in_all"), 2);
  ASSERT_EQ(view.at("files").size(), 1U);
  EXPECT_EQ(view.at("files")[0].at("path"), "/data/a");
  EXPECT_DOUBLE_EQ(view.at("files")[0].at("seconds"), 3);
  EXPECT_FALSE(view.at("files")[0].contains("rank"));
  EXPECT_EQ(view.at("directories")[0].at("path"), "/data");
}

TEST(ProfileJsonTest, the_course_adds_up_to_the_bytes) {
  const json course = profile_json(viewed_profile(), {.bins = 20}).at("course");
  double megabytes = 0;
  double begin = 0;
  for (size_t i = 0; i < course.at("end_s").size(); ++i) {
    const double end = course.at("end_s")[i];
    megabytes += (end - begin) * course.at("read_mb_per_s")[i].get<double>();
    begin = end;
  }
  EXPECT_NEAR(megabytes, 40, 1e-6);
}

TEST(ProfileJsonTest, counters_that_a_log_does_not_have_count_nothing) {
  IoProfile profile = viewed_profile();
  profile.files[0].posix->counters[PosixCounters::MMAPS] = -1;
  profile.files[0].posix->counters[PosixCounters::RENAME_SOURCES] = -1;
  const json view = profile_json(profile);
  EXPECT_EQ(view.at("posix").at("mmaps"), 0);
  EXPECT_EQ(view.at("posix").at("renames"), 0);
}

TEST(ProfileJsonTest, an_empty_profile_has_a_view) {
  const json view = profile_json(IoProfile());
  EXPECT_FALSE(view.contains("course"));
  EXPECT_FALSE(view.contains("kernel"));
  EXPECT_TRUE(view.at("files").empty());
}

TEST(ProfileRemarksTest, what_is_missing_is_said_first) {
  IoProfile profile = viewed_profile();
  profile.dropped = {
      .files = 3, .segments = 9, .posix = true, .stdio = false, .segments_partial = true};
  const std::vector<std::string> remarks = profile_remarks(profile);
  ASSERT_EQ(remarks.size(), 6U);
  EXPECT_EQ(remarks[0], "POSIX is incomplete: there was no memory for the records of more files");
  EXPECT_EQ(remarks[1], "3 opens were of files without a record");
  EXPECT_EQ(remarks[2],
            "9 reads and writes are counted, but single ones are not kept: there was no memory for "
            "more");
  EXPECT_EQ(remarks[3],
            "streams (STDIO) read 0 bytes and wrote 500, and the log does not say in requests of "
            "which sizes: the sizes of requests are POSIX's alone");
  EXPECT_EQ(remarks[4],
            "streams (STDIO) read 0 bytes and wrote 500, and the log does not say when: the course "
            "of bandwidth is POSIX's alone");
  EXPECT_TRUE(remarks[5].starts_with("never seen: page faults of mapped files"));
}

TEST(ProfileRemarksTest, nothing_is_said_of_streams_of_which_all_is_known) {
  IoProfile profile = viewed_profile();
  profile.stream_sizes.emplace();
  profile.stdio_heat[0] = {0.1, {0}, {500}};
  EXPECT_EQ(profile_remarks(profile).size(), 1U);
}

TEST(ProfileRemarksTest, the_difference_from_the_kernels_count_is_said) {
  IoProfile profile = viewed_profile();
  profile.kernel = IoProfile::Kernel{50'000'000, 100, 5'000'000, 0};
  const std::vector<std::string> remarks = profile_remarks(profile);
  ASSERT_EQ(remarks.size(), 5U);
  EXPECT_EQ(
      remarks[2],
      "the kernel counts 50000000 bytes read, of which 45000000 were seen: 5000000 not (10.00 "
      "%)");
}

}  // namespace
}  // namespace stoker

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "io/core/error.h"
#include "tests/profiler/log/profiles.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

// Nothing but an Error that says what is wrong with the data, or a profile.
void expect_no_crash(const std::string& log) {
  try {
    parsed(log);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data) << error.what();
  }
}

TEST(DamagedLogTest, a_log_that_is_cut_off_anywhere_is_an_error) {
  const std::string log = darshan_log(small_profile());
  for (size_t size = 0; size < log.size(); ++size) {
    EXPECT_EQ(code_of([&] { parsed(log.substr(0, size)); }), ExitCode::data) << size;
  }
}

TEST(DamagedLogTest, a_byte_that_is_changed_anywhere_is_an_error_or_a_profile) {
  const std::string log = darshan_log(small_profile());
  for (size_t at = 0; at < log.size(); ++at) {
    for (const char change : {'\x01', '\x80', '\xFF'}) {
      std::string changed = log;
      changed[at] = static_cast<char>(changed[at] ^ change);
      expect_no_crash(changed);
    }
  }
}

std::string with(std::string log, size_t at, const std::string& bytes) {
  return log.replace(at, bytes.size(), bytes);
}

TEST(DamagedLogTest, what_is_not_read_is_named_with_what_to_do) {
  const std::string log = darshan_log(small_profile());
  const auto says = [](const std::string& changed) { return error_of([&] { parsed(changed); }); };
  EXPECT_EQ(says("no log"),
            "LOG: is no log of Darshan 3; logs of an older Darshan are for that Darshan's tools");
  EXPECT_EQ(
      says(with(log, 0, "3.50")),
      "LOG: its format is '3.50'; known are 3.00, 3.10, 3.20, 3.21 and 3.41: is there a newer "
      "Stoker?");
  EXPECT_EQ(says(with(log, 16, "\x03")),
            "LOG: its compression is number 3; known are 0 (zlib), 1 (bzip2) and 2 (none): is it "
            "damaged?");
  EXPECT_EQ(says(with(log, 16, "\x01")),
            "LOG: job: damaged, or cut off: it cannot be decompressed");
  const size_t versions = 1072;
  EXPECT_EQ(says(with(log, versions + 4, "\x05")),
            "LOG: POSIX: version 5 of this module is not known: is there a newer Stoker?");
  EXPECT_EQ(says(with(log, versions + 4 * 9, "\x03")),
            "LOG: STDIO: version 3 of this module is not known: is there a newer Stoker?");
  EXPECT_EQ(says(with(log, 32, std::string(8, '\xFF'))),
            "LOG: is damaged, or cut off: a part of it lies outside of the file");
}

TEST(DamagedLogTest, a_small_log_cannot_ask_for_much_memory) {
  IoProfile profile;
  for (uint64_t i = 0; i < 2000; ++i) {
    profile.files.push_back(file_of(i, "/data/a"));
    profile.files.back().posix.emplace();
  }
  const std::string log = darshan_log(profile);
  EXPECT_LT(log.size(), 100'000U);
  EXPECT_EQ(error_of([&] { parse_darshan_log(bytes_of(log), "LOG", 1 << 20); }),
            "LOG: POSIX: too large: what it holds would not fit into memory");
}

// What is said of an uncompressed log of a header, a job of zeros, and one record of that module.
std::string said_of(size_t module, const std::string& record) {
  std::string log = darshan_log(IoProfile()).substr(0, 1328);
  const std::string job(1100, '\0');
  const uint64_t none[2] = {};
  const uint64_t place[2] = {log.size() + job.size(), record.size()};
  std::memcpy(&log[32], none, sizeof none);
  std::memcpy(&log[48 + 16 * module], place, sizeof place);
  log[16] = 2;
  return error_of([&] { parsed(log + job + record); });
}

TEST(DamagedLogTest, a_count_of_segments_that_are_not_there_is_an_error) {
  std::string record(128, '\0');
  const int64_t count = int64_t{1} << 60;
  std::memcpy(&record[16 + 8 + 64 + 8], &count,
              sizeof count);  // behind id, rank, a word and a host
  EXPECT_EQ(said_of(10, record), "LOG: DXT_POSIX: it ends in the middle of a record");
}

TEST(DamagedLogTest, so_are_a_count_of_bins_and_bins_of_no_width) {
  std::string record(64, '\0');
  EXPECT_EQ(said_of(15, record), "LOG: HEATMAP: a heat map whose bins have a width of 0 s");
  const double width = 0.1;
  const int64_t count = int64_t{1} << 60;
  std::memcpy(&record[16], &width, sizeof width);  // behind id and rank
  std::memcpy(&record[24], &count, sizeof count);
  EXPECT_EQ(said_of(15, record), "LOG: HEATMAP: it ends in the middle of a record");
}

}  // namespace
}  // namespace stoker

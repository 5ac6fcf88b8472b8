#include <gtest/gtest.h>

#include "io/storage/storage.h"
#include "io/storage/tail/hedged_reads.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"

namespace stoker {
namespace {

std::string written(const std::string& text) {
  HedgeAfter after;
  return Scalar<HedgeAfter>::parse(text, after) ? Scalar<HedgeAfter>::format(after) : "refused";
}

TEST(TailOptionsOf, a_percentile_or_a_time_is_read_and_written) {
  for (const std::string text : {"p50", "p95", "p99.9", "20ms", "2s"}) {
    EXPECT_EQ(written(text), text);
  }
  for (const std::string text : {"p49", "p100", "p", "95", "0ms", "2min", "auto", "p-95", ""}) {
    EXPECT_EQ(written(text), "refused") << text;
  }
}

TEST(TailOptionsOf, what_is_wrong_with_them_is_said) {
  EXPECT_NE(error_of([] {
              make_storage("{type: emulated, profile: ssd, hedge: 95, inner: {type: memory}}");
            }).find("must be a percentile from p50 to p99.9, or a time such as 20ms"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              make_storage("{type: emulated, profile: ssd, slow_factor: 9, inner: {type: memory}}");
            }).find("'slow_factor' is for slow_fraction"),
            std::string::npos);
}

TEST(TailOptionsOf, the_former_name_of_in_flight_is_told_about) {
  EXPECT_NE(error_of([] {
              make_storage("{type: http, url: 'http://127.0.0.1:1', connections: 3}");
            }).find("unknown key 'connections' (did you mean 'in_flight'?)"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker

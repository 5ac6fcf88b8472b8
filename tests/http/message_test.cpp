#include "io/http/message.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(HttpMessages, a_content_range_is_read_as_it_is_or_not_at_all) {
  EXPECT_EQ(parse_content_range("bytes 2-4/10"), (ContentRange{2, 3, 10}));
  EXPECT_EQ(parse_content_range("bytes */10"), (ContentRange{0, 0, 10}));
  for (const char* wrong : {"", "bytes 2-4/*", "bytes 4-2/10", "bytes 0-10/10", "bits 0-1/2",
                            "bytes 0-18446744073709551615/18446744073709551615", "bytes -1-2/9"}) {
    EXPECT_FALSE(parse_content_range(wrong)) << wrong;
  }
}

TEST(HttpMessages, a_url_for_a_tier_has_no_password_and_is_not_repeated) {
  EXPECT_EQ(wrong_with_url("https://[::1]:8080/a%20b/"), "");
  EXPECT_EQ(wrong_with_url("https://u:p@host/"),
            "must be a URL without a user or password: they would be kept with the results");
  EXPECT_EQ(wrong_with_url("http://host/a?token=1"),
            "must be a URL without '?' and '#': keys are added behind it");
  EXPECT_EQ(wrong_with_url("host/a"), "must be a URL such as https://host:port/path");
  EXPECT_EQ(wrong_with_url("http:///a"), "must be a URL such as https://host:port/path");
  EXPECT_EQ(wrong_with_url("http://host/a b"), "must be a percent-encoded URL, without spaces");
  EXPECT_EQ(host_of("https://host:443/a"), "host");
  EXPECT_EQ(host_of("http://host:443"), "host:443");
  EXPECT_EQ(path_of_url("http://host?x=/"), "/");
  EXPECT_EQ(path_of_url("http://host/a/b?x"), "/a/b");
}

TEST(HttpMessages, this_machine_is_asked_without_a_proxy) {
  for (const char* here : {"http://127.0.0.1:9/a", "https://localhost", "http://[::1]:80/"}) {
    EXPECT_TRUE(is_this_machine(here)) << here;
  }
  for (const char* elsewhere : {"http://127.0.0.1.example/", "http://localhost.example:1/",
                                "http://10.0.0.1/", "file:///a", ""}) {
    EXPECT_FALSE(is_this_machine(elsewhere)) << elsewhere;
  }
}

TEST(Query, values_are_decoded_and_keep_their_order) {
  EXPECT_EQ(query_values("run=a&x=1&run=b%2Fc+d", "run"), (std::vector<std::string>{"a", "b/c d"}));
  EXPECT_EQ(query_values("run", "run"), (std::vector<std::string>{""}));
  EXPECT_EQ(query_values("run=%zz%4&&=", "run"), (std::vector<std::string>{"%zz%4"}));
  EXPECT_TRUE(query_values("", "run").empty());
}

}  // namespace
}  // namespace stoker

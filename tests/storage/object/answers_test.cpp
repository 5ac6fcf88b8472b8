#include <gtest/gtest.h>

#include "io/core/error.h"
#include "io/storage/object/http_listing.h"
#include "io/storage/object/http_message.h"
#include "io/storage/object/s3_answers.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

TEST(S3Answers, a_page_of_a_listing) {
  const S3Listing page = parse_s3_listing(
      "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3/\"><!-- x --><Name>b</Name>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b=</NextContinuationToken>"
      "<Contents><Key>a&#x26;&lt;\xc3\xa4</Key><Size>7</Size><ETag>&quot;1&quot;</ETag>"
      "<Owner><ID>o</ID></Owner></Contents>"
      "<Contents><Key><![CDATA[b&c]]></Key><Size>0</Size></Contents><Empty/></ListBucketResult>");
  ASSERT_EQ(page.objects.size(), 2);
  EXPECT_EQ(page.objects[0].key, "a&<\xc3\xa4");
  EXPECT_EQ(page.objects[0].bytes, 7);
  EXPECT_EQ(page.objects[0].etag, "\"1\"");
  EXPECT_EQ(page.objects[1].key, "b&c");
  EXPECT_EQ(page.next, "a&b=");
}

TEST(S3Answers, what_is_no_listing_is_an_error) {
  const auto refused = [](const std::string& xml) {
    return error_of([&] { parse_s3_listing(xml); });
  };
  EXPECT_EQ(refused(""), "XML: it ends too early");
  EXPECT_EQ(refused("<ListBucketResult>"), "XML: it ends too early");
  EXPECT_EQ(refused("<html></html>"), "an answer of S3 is no listing");
  EXPECT_EQ(refused("<!DOCTYPE a [<!ENTITY b \"c\">]><a/>"), "XML: a DTD, which is not read");
  EXPECT_EQ(refused("<ListBucketResult><a>&b;</a></ListBucketResult>"),
            "XML: an entity that is not known");
  EXPECT_EQ(refused("<ListBucketResult><a></b></ListBucketResult>"),
            "XML: an element ends that was not begun last");
  EXPECT_EQ(refused("<ListBucketResult><Contents><Size>-1</Size></Contents></ListBucketResult>"),
            "an answer of S3 has a size that is not valid");
  EXPECT_EQ(refused("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"),
            "an answer of S3 says that more follows, but not how");
  EXPECT_EQ(refused("<ListBucketResult><Contents></Contents></ListBucketResult>"),
            "an answer of S3 has an object without a key");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_EQ(refused("<ListBucketResult>" + deep), "XML: nested too deep");
}

TEST(S3Answers, an_error_has_a_code_and_a_page_of_a_proxy_has_none) {
  const S3Error error =
      parse_s3_error("<Error><Code>SlowDown</Code><Message>Reduce it.</Message></Error>");
  EXPECT_EQ(error.code + ": " + error.message, "SlowDown: Reduce it.");
  EXPECT_EQ(parse_s3_error("<html><p>busy</html>").code, "");
}

TEST(HttpListing, an_index_has_sizes_or_keys_alone) {
  const std::vector<IndexLine> lines = parse_index("7\tb/c d.jpg\r\n\na\n");
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[0].key, "a");
  EXPECT_FALSE(lines[0].bytes);
  EXPECT_EQ(lines[1].key, "b/c d.jpg");
  EXPECT_EQ(lines[1].bytes, 7);
}

TEST(HttpListing, an_index_that_is_wrong_names_the_line) {
  const auto refused = [](const std::string& text) { return error_of([&] { parse_index(text); }); };
  EXPECT_EQ(refused("1\ta\nx\tb\n"), "line 2: expected bytes, a tab and a key, or a key alone");
  EXPECT_EQ(refused("1\t../a\n"),
            "line 1: key '../a' must be a relative path inside its tier such as a/b.jpg");
  EXPECT_EQ(refused("1\ta\na\n"), "key 'a' is there twice");
}

TEST(HttpListing, a_directory_of_nginx) {
  const std::vector<DirectoryEntry> entries = parse_directory(
      R"([{"name":"a b","type":"directory","mtime":"x"},{"name":"c","type":"file","size":3}])");
  ASSERT_EQ(entries.size(), 2);
  EXPECT_TRUE(entries[0].directory);
  EXPECT_EQ(entries[1].bytes, 3);
  for (const char* wrong : {"{}", "[1]", R"([{"name":"..","type":"directory"}])",
                            R"([{"name":"a","type":"file","size":-1}])",
                            R"([{"name":"a","type":"file","size":1e300}])"}) {
    EXPECT_THROW(parse_directory(wrong), Error) << wrong;
  }
}

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

}  // namespace
}  // namespace stoker

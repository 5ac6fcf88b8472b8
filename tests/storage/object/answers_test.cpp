#include <gtest/gtest.h>

#include "io/core/error.h"
#include "io/storage/object/http_listing.h"
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
  EXPECT_EQ(refused(""), "an answer of S3 is not XML: XML_ERROR_EMPTY_DOCUMENT");
  EXPECT_EQ(refused("<ListBucketResult>"),
            "an answer of S3 is not XML: XML_ERROR_MISMATCHED_ELEMENT");
  EXPECT_EQ(refused("<html></html>"), "an answer of S3 is no listing");
  EXPECT_EQ(refused("<ListBucketResult><a></b></ListBucketResult>"),
            "an answer of S3 is not XML: XML_ERROR_MISMATCHED_ELEMENT");
  EXPECT_EQ(refused("<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents>"
                    "</ListBucketResult>"),
            "an answer of S3 has a size that is no number");
  EXPECT_EQ(refused("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"),
            "an answer of S3 says that more follows, but not how");
  EXPECT_EQ(refused("<ListBucketResult><Contents></Contents></ListBucketResult>"),
            "an answer of S3 has an object without a key");
}

TEST(S3Answers, a_hostile_one_neither_grows_nor_overflows) {
  const std::string key =
      "<ListBucketResult><Contents><Key>&b;</Key></Contents></ListBucketResult>";
  for (const char* before : {"", "<!DOCTYPE a [<!ENTITY b \"cccccccc\">]>"}) {
    EXPECT_EQ(parse_s3_listing(before + key).objects.at(0).key, "&b;") << "no entity is expanded";
  }
  std::string deep = "<ListBucketResult>";
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_EQ(error_of([&] { parse_s3_listing(deep); }),
            "an answer of S3 is not XML: XML_ELEMENT_DEPTH_EXCEEDED");
  EXPECT_EQ(error_of([] { parse_s3_listing(std::string((size_t{8} << 20) + 1, ' ')); }),
            "an answer of S3 has more than 8 MiB");
}

TEST(S3Answers, an_error_has_a_code_and_a_page_of_a_proxy_has_none) {
  const S3Error error =
      parse_s3_error("<Error><Code>SlowDown</Code><Message>Reduce it.</Message></Error>");
  EXPECT_EQ(error.code + ": " + error.message, "SlowDown: Reduce it.");
  EXPECT_EQ(parse_s3_error("<Error><Code>a</Code><Region>eu</Region></Error>").region, "eu");
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

TEST(HttpListing, an_index_may_be_what_find_and_du_print) {
  std::string keys;
  for (const IndexLine& line : parse_index("\xef\xbb\xbf.\n7\t./cat/1.jpg\n\xef\xbb\xbf"
                                           "8\tdog//2.jpg\n./x/\n")) {
    keys += line.key + "=" + (line.bytes ? std::to_string(*line.bytes) : "?") + " ";
  }
  EXPECT_EQ(keys, "cat/1.jpg=7 dog/2.jpg=8 x=? ");
}

TEST(HttpListing, an_index_that_is_wrong_names_the_line) {
  const auto refused = [](const std::string& text) { return error_of([&] { parse_index(text); }); };
  EXPECT_EQ(refused("1\ta\nx\tb\n"), "line 2: expected bytes, a tab and a key, or a key alone");
  EXPECT_EQ(refused("1\t../a\n"),
            "line 1: key '../a' must be a relative path inside its tier such as a/b.jpg");
  EXPECT_EQ(refused("1\ta\na\n"), "key 'a' is there twice");
  EXPECT_EQ(refused(std::string("\xff\xfe"
                                "a\0\n\0",
                                6)),
            "it is no text: write it as UTF-8");
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

}  // namespace
}  // namespace stoker

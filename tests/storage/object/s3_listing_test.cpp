#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/http_server.h"
#include "tests/support/storages.h"

namespace stoker {
namespace {

// A bucket that is listed so, on a server of its own.
struct Bucket {
  explicit Bucket(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      page += "<Contents><Key>" + key + "</Key><Size>3</Size></Contents>";
    }
    page = "<ListBucketResult>" + page + "</ListBucketResult>";
  }
  std::unique_ptr<Storage> tier(const std::string& options = "") {
    const Node node = parse_yaml("{type: s3, endpoint: '" + server.url("") +
                                     "', bucket: b, anonymous: true, retries: 0" + options + "}",
                                 "test.yaml");
    return Registry<Storage>::global()
        .parse(Section(node, "", "storage", nullptr))
        .create({.name = "data",
                 .notify = [this](const std::string& remark) { remarks.push_back(remark); }});
  }

  std::string page;
  std::string type = "application/xml";
  std::vector<std::string> remarks;
  HttpServer server{[this](const std::string&) {
    return HttpResponse{.headers = "Content-Type: " + type + "\r\n", .body = page};
  }};
};

TEST(S3Listing, keys_that_are_no_paths_are_passed_over_and_said_once) {
  Bucket bucket(
      {"/cat/1.jpg", "cat//2.jpg", "cat/3.jpg", "cat/", "dog/", "//", "./owl/4.jpg", "a/../5.jpg"});
  const auto tier = bucket.tier();
  EXPECT_EQ(listing(*tier), "cat/3.jpg=3 dog/=3");
  EXPECT_EQ(listing(*tier), "cat/3.jpg=3 dog/=3");
  ASSERT_EQ(bucket.remarks.size(), 1u);
  EXPECT_EQ(bucket.remarks.front(),
            "storage 'data': 5 objects are passed over, for their keys are no paths inside the "
            "tier: '/cat/1.jpg', 'cat//2.jpg', '//', './owl/4.jpg' and 'a/../5.jpg'; rename them");
}

TEST(S3Listing, keys_that_begin_with_a_slash_behind_the_prefix_are_no_paths_either) {
  Bucket bucket({"in/cat/1.jpg", "in//cat/2.jpg", "in/", "in//"});
  EXPECT_EQ(listing(*bucket.tier(", prefix: in")), "cat/1.jpg=3");
  EXPECT_EQ(bucket.remarks.size(), 1u);
}

TEST(S3Listing, keys_of_any_other_letters_are_those_of_their_objects) {
  Bucket bucket({"50%.jpg", "a%2Fb", "a+b?c#d", "e..f", "..g", "h ", " i", "j\\k"});
  const auto tier = bucket.tier();
  EXPECT_EQ(listing(*tier), " i=3 ..g=3 50%.jpg=3 a%2Fb=3 a+b?c#d=3 e..f=3 h =3 j\\k=3");
  EXPECT_TRUE(bucket.remarks.empty());
}

TEST(S3Listing, a_console_in_the_place_of_the_service_is_named) {
  Bucket bucket({});
  bucket.page = "<html><body>console</body></html>";
  bucket.type = "text/html; charset=utf-8";
  const std::string message = error_of([&] { bucket.tier()->list(""); });
  EXPECT_EQ(message.substr(message.find(": ") + 2),
            "an answer of S3 is no listing: a page of HTML; check `endpoint`, for consoles have "
            "another port");
}

}  // namespace
}  // namespace stoker

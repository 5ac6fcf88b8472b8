#include "io/storage/object/aws_signature.h"

#include <gtest/gtest.h>

#include "io/core/digest.h"

namespace stoker {
namespace {

// "Authenticating Requests: Using the Authorization Header", examples of docs.aws.amazon.com: the
// bucket examplebucket on 2013-05-24.
const AwsCredentials kExample{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                              ""};
constexpr std::time_t kExampleTime = 1369353600;

std::string signature_of(AwsSigner::Request request, AwsCredentials credentials = kExample) {
  request.headers["host"] = "examplebucket.s3.amazonaws.com";
  const std::string line =
      AwsSigner(std::move(credentials), "us-east-1").sign(std::move(request), kExampleTime).back();
  return line.substr(line.find("Signature=") + 10);
}

TEST(AwsSignature, an_object_that_is_read_as_in_the_documentation) {
  EXPECT_EQ(signature_of({.method = "GET",
                          .path = "/test.txt",
                          .query = "",
                          .headers = {{"range", "bytes=0-9"}},
                          .payload = sha256_hex("")}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(AwsSignature, an_object_that_is_written_as_in_the_documentation) {
  EXPECT_EQ(signature_of({.method = "PUT",
                          .path = "/test%24file.text",
                          .query = "",
                          .headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                                      {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                          .payload = sha256_hex("Welcome to Amazon S3.")}),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(AwsSignature, a_listing_as_in_the_documentation_whatever_the_order_of_its_query) {
  for (const char* query : {"max-keys=2&prefix=J", "prefix=J&max-keys=2"}) {
    EXPECT_EQ(signature_of({.method = "GET",
                            .path = "/",
                            .query = query,
                            .headers = {},
                            .payload = sha256_hex("")}),
              "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
  }
  EXPECT_EQ(signature_of({.method = "GET",
                          .path = "/",
                          .query = "lifecycle",
                          .headers = {},
                          .payload = sha256_hex("")}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

// HMAC hashes a key that is longer than a block first. Computed with Python's hmac.
TEST(AwsSignature, a_secret_may_be_longer_than_a_block) {
  AwsCredentials with_long_secret = kExample;
  with_long_secret.secret = std::string(100, 'k');
  EXPECT_EQ(
      signature_of(
          {.method = "GET", .path = "/", .query = "", .headers = {}, .payload = sha256_hex("")},
          with_long_secret),
      "df39ea3bee0a011067e7ebf858191e6798fb9d829e9497855664546e71971aa9");
}

TEST(AwsSignature, a_session_token_is_sent_and_signed) {
  AwsCredentials with_token = kExample;
  with_token.session_token = "token";
  const AwsSigner::Request request{
      .method = "GET", .path = "/", .query = "", .headers = {}, .payload = sha256_hex("")};
  EXPECT_NE(signature_of(request, with_token), signature_of(request));
  const std::vector<std::string> headers =
      AwsSigner(with_token, "us-east-1").sign(request, kExampleTime);
  ASSERT_EQ(headers.size(), 4);
  EXPECT_EQ(headers[2], "x-amz-security-token: token");
}

}  // namespace
}  // namespace stoker

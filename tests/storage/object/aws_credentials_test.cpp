#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "io/storage/object/aws_signature.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

TEST(AwsCredentialsFile, each_profile_has_its_own) {
  const std::string text =
      "# of a tool\n[default]\naws_access_key_id = A\r\naws_secret_access_key=B=\n\n"
      "[ other ]\naws_secret_access_key = D\naws_access_key_id = C\naws_session_token = T\n";
  const auto first = parse_aws_credentials(text, "default");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->key_id + " " + first->secret + " " + first->session_token, "A B= ");
  const auto other = parse_aws_credentials(text, "other");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->key_id + " " + other->secret + " " + other->session_token, "C D T");
  EXPECT_FALSE(parse_aws_credentials(text, "none"));
}

TEST(AwsCredentialsFile, what_could_break_a_header_is_no_credential) {
  EXPECT_FALSE(parse_aws_credentials(
      std::string("[default]\naws_access_key_id = A\x01\naws_secret_access_key = B\n"), "default"));
  EXPECT_FALSE(parse_aws_credentials("[default]\naws_access_key_id = A\n", "default"));
}

TEST(AwsCredentialsFile, what_is_missing_is_said_and_no_secret_is) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/credentials";
  EXPECT_EQ(error_of([&] { aws_credentials_from_file(path, "default"); }),
            "storage s3: credentials " + path + ": there is no such file");
  std::ofstream(path) << "[default]\naws_secret_access_key = hidden\n";
  EXPECT_EQ(error_of([&] { aws_credentials_from_file(path, "default"); }),
            "storage s3: credentials " + path +
                ": expected [default] with aws_access_key_id and aws_secret_access_key");
}

TEST(AwsCredentialsEnvironment, without_them_it_says_how_to_give_them) {
  ::unsetenv("AWS_ACCESS_KEY_ID");
  EXPECT_EQ(
      error_of([] { aws_credentials_from_environment(); }),
      "storage s3: no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a "
      "file of AWS's format by `credentials`, or say `anonymous: true`");
}

}  // namespace
}  // namespace stoker

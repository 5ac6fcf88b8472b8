#pragma once

#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Who asks. A value. Nothing prints it: no message, no file of a run and no page may have it.
struct AwsCredentials {
  std::string key_id;
  std::string secret;
  std::string session_token;  // empty: none
};

// From AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. Error(ExitCode::environment)
// where one of the first two is not set.
AwsCredentials aws_credentials_from_environment();

// From a file as AWS's own tools have it: "[profile]", "aws_access_key_id = ...".
// Error(ExitCode::environment) that names the file and what it lacks.
AwsCredentials aws_credentials_from_file(const std::string& path, const std::string& profile);

// The parser of that file; nothing where the profile or a key is missing. Any thread.
std::optional<AwsCredentials> parse_aws_credentials(std::string_view text,
                                                    std::string_view profile);

// AWS Signature Version 4 in headers ("Signing AWS API requests", docs.aws.amazon.com), for S3. Our
// own, because libcurl's differs from version to version. Any thread.
class AwsSigner {
 public:
  AwsSigner(AwsCredentials credentials, std::string region);

  // What is signed. The path is percent-encoded once, the query's names and values fully.
  struct Request {
    std::string method;
    std::string path;
    std::string query;  // "a=1&b=2", in any order; a name without a value as "uploads="
    // By lower-case name, "host" among them; values without blanks at their ends.
    std::map<std::string, std::string> headers;
    std::string payload;  // hash of the body, or UNSIGNED-PAYLOAD
  };
  // The headers to send beside those of the request: date, hash, token, signature.
  std::vector<std::string> sign(Request request, std::time_t now) const;

 private:
  std::string key_of(const std::string& day) const;

  const AwsCredentials credentials_;
  const std::string region_;
  mutable std::mutex mutex_;
  mutable std::string key_day_;
  mutable std::string key_;  // of that day
};

}  // namespace stoker

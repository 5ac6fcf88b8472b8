#pragma once

#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "io/storage/object/aws_credentials.h"

namespace stoker {

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

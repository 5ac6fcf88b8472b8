#pragma once

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace stoker

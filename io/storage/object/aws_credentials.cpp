#include "io/storage/object/aws_credentials.h"

#include <cstdlib>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

constexpr size_t kLargestFile = size_t{1} << 20;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  return begin == text.npos ? std::string_view()
                            : text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// They become parts of headers.
bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c >= '\x7f') return false;
  }
  return !text.empty();
}

bool usable(const AwsCredentials& credentials) {
  return is_plain(credentials.key_id) && is_plain(credentials.secret) &&
         (credentials.session_token.empty() || is_plain(credentials.session_token));
}

}  // namespace

AwsCredentials aws_credentials_from_environment() {
  AwsCredentials credentials{variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                             variable("AWS_SESSION_TOKEN")};
  if (usable(credentials)) return credentials;
  throw Error(
      ExitCode::environment,
      "storage s3: no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name "
      "a file of AWS's format by `credentials`, or say `anonymous: true`");
}

AwsCredentials aws_credentials_from_file(const std::string& path, const std::string& profile) {
  const std::optional<std::string> text = read_if_there(path, kLargestFile, Readable::streams);
  if (!text) {
    throw Error(ExitCode::environment,
                "storage s3: credentials " + path + ": there is no such file");
  }
  if (const auto credentials = parse_aws_credentials(*text, profile)) return *credentials;
  throw Error(ExitCode::environment, "storage s3: credentials " + path + ": expected [" + profile +
                                         "] with aws_access_key_id and aws_secret_access_key");
}

std::optional<AwsCredentials> parse_aws_credentials(std::string_view text,
                                                    std::string_view profile) {
  AwsCredentials credentials;
  bool inside = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('[') && line.ends_with(']')) {
      inside = trimmed(line.substr(1, line.size() - 2)) == profile;
      continue;
    }
    const size_t equals = line.find('=');
    if (!inside || line.starts_with('#') || line.starts_with(';') || equals == line.npos) continue;
    const std::string_view name = trimmed(line.substr(0, equals));
    const std::string value(trimmed(line.substr(equals + 1)));
    if (name == "aws_access_key_id") credentials.key_id = value;
    if (name == "aws_secret_access_key") credentials.secret = value;
    if (name == "aws_session_token") credentials.session_token = value;
  }
  if (!usable(credentials)) return std::nullopt;
  return credentials;
}

}  // namespace stoker

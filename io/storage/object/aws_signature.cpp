#include "io/storage/object/aws_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string sha256(std::string_view first, std::string_view second) {
  Digest sum(Digest::Kind::sha256);
  sum.update(as_bytes(first));
  sum.update(as_bytes(second));
  const std::vector<uint8_t> hash = sum.finish_bytes();
  return {hash.begin(), hash.end()};
}

// RFC 2104.
std::string hmac(std::string_view key, std::string_view text) {
  constexpr size_t kBlock = 64;
  std::string inner(key.size() > kBlock ? sha256(key, "") : key);
  inner.resize(kBlock);
  std::string outer = inner;
  for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
  for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5c);
  return sha256(outer, sha256(inner, text));
}

std::string to_hex(std::string_view bytes) {
  return fmt::format("{:02x}", fmt::join(as_bytes(bytes), ""));
}

// Sorted by name, then by value; "=" sorts as the end of a name does.
std::string sorted_query(std::string_view query) {
  std::vector<std::pair<std::string_view, std::string_view>> parts;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t equals = std::min(part.find('='), part.size());
    parts.emplace_back(part.substr(0, equals), part.substr(std::min(equals + 1, part.size())));
  }
  std::ranges::sort(parts);
  std::string text;
  for (const auto& [name, value] : parts) {
    text += text.empty() ? "" : "&";
    text.append(name).append("=").append(value);
  }
  return text;
}

std::string utc(const char* format, std::time_t now) {
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace

AwsSigner::AwsSigner(AwsCredentials credentials, std::string region)
    : credentials_(std::move(credentials)), region_(std::move(region)) {}

std::string AwsSigner::key_of(const std::string& day) const {
  const std::lock_guard lock(mutex_);
  if (day != key_day_) {
    key_ = hmac(hmac(hmac(hmac("AWS4" + credentials_.secret, day), region_), "s3"), "aws4_request");
    key_day_ = day;
  }
  return key_;
}

std::vector<std::string> AwsSigner::sign(Request request, std::time_t now) const {
  const std::string time = utc("%Y%m%dT%H%M%SZ", now);
  const std::string day = time.substr(0, 8);
  request.headers["x-amz-date"] = time;
  request.headers["x-amz-content-sha256"] = request.payload;
  if (!credentials_.session_token.empty()) {
    request.headers["x-amz-security-token"] = credentials_.session_token;
  }

  std::string lines, names;
  for (const auto& [name, value] : request.headers) {
    lines.append(name).append(":").append(value).append("\n");
    names.append(names.empty() ? "" : ";").append(name);
  }
  const std::string canonical = request.method + "\n" + request.path + "\n" +
                                sorted_query(request.query) + "\n" + lines + "\n" + names + "\n" +
                                request.payload;
  const std::string scope = day + "/" + region_ + "/s3/aws4_request";
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + sha256_hex(canonical);
  const std::string signature = to_hex(hmac(key_of(day), to_sign));

  std::vector<std::string> headers;
  for (const char* name : {"x-amz-date", "x-amz-content-sha256", "x-amz-security-token"}) {
    const auto found = request.headers.find(name);
    if (found != request.headers.end()) headers.push_back(found->first + ": " + found->second);
  }
  headers.push_back("Authorization: AWS4-HMAC-SHA256 Credential=" + credentials_.key_id + "/" +
                    scope + ",SignedHeaders=" + names + ",Signature=" + signature);
  return headers;
}

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

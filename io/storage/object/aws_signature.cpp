#include "io/storage/object/aws_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "io/core/digest.h"

namespace stoker {
namespace {

std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

const unsigned char* as_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string hmac(std::string_view key, std::string_view text) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), as_bytes(text), text.size(), sum,
           &size) == nullptr) {
    throw std::runtime_error("OpenSSL's HMAC failed");
  }
  return {reinterpret_cast<const char*>(sum), size};
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

std::string sha256_hex(std::string_view bytes) {
  Digest sum("SHA256");
  sum.update({as_bytes(bytes), bytes.size()});
  return sum.finish();
}

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

}  // namespace stoker

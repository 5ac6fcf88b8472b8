#include "io/http/curl/retry.h"

#include <algorithm>

namespace stoker {
namespace {

// What S3 says of an upload that was damaged or cut under way.
bool says_damaged(const std::string& text) {
  for (const char* code :
       {"RequestTimeout", "XAmzContentSHA256Mismatch", "BadDigest", "IncompleteBody"}) {
    if (text.find(std::string("<Code>") + code + "</Code>") != text.npos) return true;
  }
  return false;
}

}  // namespace

bool may_pass(CURLcode code, bool found) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_WRITE_ERROR:  // our own refusal
      return false;
    case CURLE_COULDNT_RESOLVE_HOST:
      return found;
    default:
      return true;
  }
}

bool may_pass(long status, const std::string& text) {
  if (status == 400) return says_damaged(text);
  return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

int64_t wait_ms(const RetryPolicy& policy, int64_t attempts, Random& random,
                int64_t retry_after_ms) {
  int64_t most = policy.base_ms;
  for (int64_t i = 1; i < attempts && most < policy.longest_ms; ++i) most *= 2;
  most = std::min(most, policy.longest_ms);
  const auto jitter = static_cast<int64_t>(random.below(static_cast<uint64_t>(most) + 1));
  return std::max(jitter, retry_after_ms);
}

}  // namespace stoker

#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <string>

#include "io/core/random.h"
#include "io/http/transport.h"

namespace stoker {

// What is tried again: the one rule for tiers, downloads, pushes and whoever else asks over HTTP.
// All functions: any thread.
//
//   1. An attempt that libcurl could not bring to its end is made again, unless the cause is one
//      that stays: the URL, the certificate, a loop of redirects, our own refusal of the answer.
//   2. A host that is not found is one that stays (a typo, or no network), unless a host was found
//      before: then it is the name service that failed for a moment.
//   3. A server that says that it is busy or broken is asked again: 408, 429, and all from 500 on
//      but 501 and 505, which say that it cannot do this at all.
//   4. So is one that says, as S3 does with status 400, that what it got of us arrived damaged.
//   5. An answer that ended before its length was reached is asked for again.

// Rules 1 and 2. `found`: a host was found before.
bool may_pass(CURLcode code, bool found);
// Rules 3 and 4; `text` is the answer's body.
bool may_pass(long status, const std::string& text);

// The wait in milliseconds before the next attempt, when `attempts` were made and the server asked
// for `retry_after_ms`.
int64_t wait_ms(const RetryPolicy& policy, int64_t attempts, Random& random,
                int64_t retry_after_ms);

}  // namespace stoker

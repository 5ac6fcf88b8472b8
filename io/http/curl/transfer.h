#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/core/random.h"
#include "io/http/message.h"
#include "io/http/transport.h"

namespace stoker {

// What came of one attempt. A value.
struct TransferOutcome {
  // With a failure where it cannot be an answer, because nothing or only a part of one came, or
  // because the server is busy or broken; it does not name the request yet.
  HttpAnswer answer = {};
  bool again = false;          // it may help to try again
  int64_t retry_after_ms = 0;  // the server's wish
};

// One request at a time, on a handle of libcurl that is used again and again. One thread at a time.
class Transfer {
 public:
  // `limits` must outlive it.
  explicit Transfer(const HttpLimits& limits);

  // For curl_multi_add_handle().
  CURL* handle() const { return handle_.get(); }
  // Prepares an attempt. The request must live, and stay where it is, until end().
  void begin(const HttpRequest& request, const std::vector<std::string>& more_headers);
  // Ends it, with libcurl's last word on it. host_found: a host was found before.
  TransferOutcome end(CURLcode code, bool host_found);

 private:
  static size_t on_body(char* data, size_t, size_t size, void* self);
  static size_t on_send(char* data, size_t, size_t size, void* self);
  template <class T>
  void set(CURLoption option, T value);
  void set_request(const std::vector<std::string>& more_headers);
  void set_limits();
  void add_header(const std::string& line);
  HttpHead head() const;
  std::string header(const char* name) const;
  bool take(Bytes bytes);
  bool begin_body();
  bool received(const HttpHead& head, Bytes bytes);
  bool keep_text(Bytes bytes);
  TransferOutcome failed(CURLcode code, bool host_found) const;

  const HttpLimits& limits_;
  std::unique_ptr<CURL, void (*)(CURL*)> handle_;
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers_;
  const HttpRequest* request_ = nullptr;
  char error_[CURL_ERROR_SIZE] = {};
  bool begun_ = false;  // the body
  // Where the body goes: to the room that `place` gave, to `stream`, or else to text_.
  enum class Target { text, room, stream };
  Target target_ = Target::text;
  HttpHead head_;
  std::span<uint8_t> room_;
  size_t received_ = 0;
  size_t sent_ = 0;
  std::string text_;
  std::string refused_;
  std::string thrown_;  // the message of an IoError of `place` or `stream`
  int thrown_errno_ = 0;
};

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

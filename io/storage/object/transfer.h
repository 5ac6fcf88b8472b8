#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/storage/object/http_message.h"

struct curl_slist;

namespace stoker {

// What holds for all requests of a tier. A value.
struct TransferLimits {
  int64_t timeout_ms = 60'000;  // for one attempt
  bool redirects = false;       // are followed, as far as to http and https
  std::string ca_file = {};     // certificates to trust; empty: the system's
};

// What came of one attempt. A value.
struct TransferOutcome {
  // Set where it cannot be an answer, because nothing or only a part of one came, or because the
  // server is busy or broken: the cause in words.
  std::string failure = {};
  int errno_value = 0;
  bool again = false;          // it may help to try again
  int64_t retry_after_ms = 0;  // the server's wish
  std::string refused = {};    // by HttpRequest::place: its message
  HttpAnswer answer = {};
};

// One request at a time, on a handle of libcurl that is used again and again. One thread at a time.
class Transfer {
 public:
  explicit Transfer(const TransferLimits& limits);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // For curl_multi_add_handle().
  void* handle() const { return handle_; }
  // Prepares an attempt. The request must live, and stay where it is, until end().
  void begin(const HttpRequest& request, const std::vector<std::string>& more_headers);
  // Of what libcurl says in the end.
  TransferOutcome end(int curl_code);

 private:
  static size_t on_body(char* data, size_t, size_t size, void* self);
  static size_t on_send(char* data, size_t, size_t size, void* self);
  void set_request(const std::vector<std::string>& more_headers);
  HttpHead head() const;
  std::string header(const char* name) const;
  bool take(const char* data, size_t size);
  bool begin_body();
  TransferOutcome failed(int curl_code) const;

  const TransferLimits& limits_;
  void* handle_;
  const HttpRequest* request_ = nullptr;
  curl_slist* headers_ = nullptr;
  char error_[256] = {};  // CURL_ERROR_SIZE
  bool begun_ = false;    // the body
  std::span<uint8_t> room_;
  bool to_room_ = false;
  size_t received_ = 0;
  size_t sent_ = 0;
  std::string text_;
  std::string refused_;
  std::string thrown_;  // by place
  int thrown_errno_ = 0;
};

}  // namespace stoker

#include "io/storage/object/transfer.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "io/core/error.h"

namespace stoker {
namespace {

static_assert(CURL_ERROR_SIZE == 256);
constexpr long kConnectMs = 20'000;
constexpr long kSlow = 1024;  // bytes/s
// Of an answer that is no object: a page of a listing, an error.
constexpr size_t kMostText = size_t{64} << 20;
constexpr int64_t kLongestWish = 120'000;

template <class T>
void set(void* handle, CURLoption option, T value) {
  if (curl_easy_setopt(static_cast<CURL*>(handle), option, value) != CURLE_OK) {
    throw std::runtime_error("curl_easy_setopt failed");
  }
}

void add_header(curl_slist*& list, const std::string& line) {
  curl_slist* const longer = curl_slist_append(list, line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  list = longer;
}

bool is_this_machine(const std::string& url) {
  const std::string host = host_of(url);
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

int errno_of(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return ETIMEDOUT;
    case CURLE_COULDNT_CONNECT:
      return ECONNREFUSED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return EHOSTUNREACH;
    case CURLE_PEER_FAILED_VERIFICATION:
      return EACCES;
    default:
      return EIO;
  }
}

bool worth_again(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_WRITE_ERROR:  // our own refusal
      return false;
    default:
      return true;
  }
}

// Of S3: what it got of us was damaged or cut under way.
bool says_damaged(long status, const std::string& text) {
  if (status != 400) return false;
  for (const char* code :
       {"RequestTimeout", "XAmzContentSHA256Mismatch", "BadDigest", "IncompleteBody"}) {
    if (text.find(std::string("<Code>") + code + "</Code>") != text.npos) return true;
  }
  return false;
}

bool is_busy(long status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

}  // namespace

Transfer::Transfer(const TransferLimits& limits) : limits_(limits), handle_(curl_easy_init()) {
  if (handle_ == nullptr) throw std::bad_alloc();
}

Transfer::~Transfer() {
  curl_easy_cleanup(static_cast<CURL*>(handle_));
  curl_slist_free_all(headers_);
}

void Transfer::begin(const HttpRequest& request, const std::vector<std::string>& more_headers) {
  request_ = &request;
  curl_easy_reset(static_cast<CURL*>(handle_));
  curl_slist_free_all(std::exchange(headers_, nullptr));
  error_[0] = '\0';
  begun_ = to_room_ = false;
  received_ = sent_ = 0;
  text_.clear();
  refused_.clear();
  thrown_.clear();
  set_request(more_headers);

  set(handle_, CURLOPT_PRIVATE, this);
  set(handle_, CURLOPT_NOSIGNAL, 1L);
  set(handle_, CURLOPT_USERAGENT, "stoker");
  set(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle_, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(handle_, CURLOPT_FOLLOWLOCATION, limits_.redirects ? 1L : 0L);
  set(handle_, CURLOPT_MAXREDIRS, 10L);
  // One connection for each request in flight: more streams, and what all servers speak.
  set(handle_, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  set(handle_, CURLOPT_BUFFERSIZE, 256L << 10);
  set(handle_, CURLOPT_ERRORBUFFER, error_);
  const long timeout = static_cast<long>(limits_.timeout_ms * request.patience);
  set(handle_, CURLOPT_TIMEOUT_MS, timeout);
  set(handle_, CURLOPT_CONNECTTIMEOUT_MS, std::min(timeout, kConnectMs));
  set(handle_, CURLOPT_LOW_SPEED_LIMIT, kSlow);
  set(handle_, CURLOPT_LOW_SPEED_TIME, std::max(1L, timeout / 2000));
  set(handle_, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(handle_, CURLOPT_WRITEDATA, this);
  if (!limits_.ca_file.empty()) set(handle_, CURLOPT_CAINFO, limits_.ca_file.c_str());
  if (is_this_machine(request.url)) set(handle_, CURLOPT_NOPROXY, "*");
}

void Transfer::set_request(const std::vector<std::string>& more_headers) {
  set(handle_, CURLOPT_URL, request_->url.c_str());
  set(handle_, CURLOPT_PATH_AS_IS, 1L);
  for (const std::string& line : request_->headers) add_header(headers_, line);
  for (const std::string& line : more_headers) add_header(headers_, line);
  if (request_->method == "HEAD") {
    set(handle_, CURLOPT_NOBODY, 1L);
  } else if (request_->body) {
    set(handle_, CURLOPT_UPLOAD, 1L);
    set(handle_, CURLOPT_READFUNCTION, &Transfer::on_send);
    set(handle_, CURLOPT_READDATA, this);
    set(handle_, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_->body->size()));
    add_header(headers_, "Expect:");  // no waiting for a permission
  }
  if (request_->method != "HEAD") set(handle_, CURLOPT_CUSTOMREQUEST, request_->method.c_str());
  set(handle_, CURLOPT_HTTPHEADER, headers_);
}

size_t Transfer::on_body(char* data, size_t, size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  try {
    return transfer.take(data, size) ? size : 0;
  } catch (const std::exception&) {  // libcurl is C
    transfer.refused_ = "there is no memory for the answer";
    return 0;
  }
}

size_t Transfer::on_send(char* data, size_t, size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::string& body = *transfer.request_->body;
  const size_t count = std::min(size, body.size() - transfer.sent_);
  std::memcpy(data, body.data() + transfer.sent_, count);
  transfer.sent_ += count;
  return count;
}

std::string Transfer::header(const char* name) const {
  curl_header* found = nullptr;
  const CURLHcode code =
      curl_easy_header(static_cast<CURL*>(handle_), name, 0, CURLH_HEADER, -1, &found);
  return code == CURLHE_OK ? found->value : "";
}

HttpHead Transfer::head() const {
  HttpHead head;
  curl_easy_getinfo(static_cast<CURL*>(handle_), CURLINFO_RESPONSE_CODE, &head.status);
  head.etag = header("ETag");
  curl_off_t length = -1;
  curl_easy_getinfo(static_cast<CURL*>(handle_), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  if (length >= 0) head.length = static_cast<uint64_t>(length);
  if (head.status == 206 || head.status == 416) {
    head.range = parse_content_range(header("Content-Range"));
  }
  return head;
}

// Once for each attempt, when the head is complete.
bool Transfer::begin_body() {
  begun_ = true;
  if (!request_->place) return true;
  const HttpHead now = head();
  if (now.status != 200 && now.status != 206) return true;
  try {
    room_ = request_->place(now);
  } catch (const IoError& error) {
    thrown_ = error.what();
    thrown_errno_ = error.errno_value();
    return false;
  }
  to_room_ = true;
  return true;
}

bool Transfer::take(const char* data, size_t size) {
  if (!begun_ && !begin_body()) return false;
  if (to_room_) {
    if (size > room_.size() - received_) {
      refused_ = "the server sent more bytes than were asked for";
      return false;
    }
    std::memcpy(room_.data() + received_, data, size);
  } else {
    if (size > kMostText - text_.size()) {
      refused_ = "the server's answer has more than 64 MiB";
      return false;
    }
    text_.append(data, size);
  }
  received_ += size;
  return true;
}

TransferOutcome Transfer::failed(int curl_code) const {
  const auto code = static_cast<CURLcode>(curl_code);
  TransferOutcome outcome;
  outcome.refused = thrown_;
  if (!thrown_.empty()) {
    outcome.errno_value = thrown_errno_;
    return outcome;
  }
  outcome.failure = !refused_.empty()   ? refused_
                    : error_[0] != '\0' ? error_
                                        : curl_easy_strerror(code);
  outcome.errno_value = errno_of(code);
  outcome.again = worth_again(code);
  return outcome;
}

TransferOutcome Transfer::end(int curl_code) {
  if (curl_code != CURLE_OK) return failed(curl_code);
  TransferOutcome outcome;
  if (!begun_ && !begin_body()) return failed(CURLE_WRITE_ERROR);  // an empty body
  outcome.answer.head = head();
  outcome.answer.text = std::move(text_);
  const long status = outcome.answer.head.status;
  if (is_busy(status) || says_damaged(status, outcome.answer.text)) {
    outcome.failure = fmt::format("the server answered {}", status);
    outcome.errno_value = status == 408 || status == 504 ? ETIMEDOUT : EIO;
    outcome.again = true;
    curl_off_t wish = 0;
    curl_easy_getinfo(static_cast<CURL*>(handle_), CURLINFO_RETRY_AFTER, &wish);
    outcome.retry_after_ms = std::clamp<int64_t>(wish, 0, kLongestWish / 1000) * 1000;
  } else if (to_room_ && received_ != room_.size()) {
    outcome.failure = fmt::format("the server sent {} of {} bytes", received_, room_.size());
    outcome.errno_value = EIO;
    outcome.again = true;
  }
  return outcome;
}

}  // namespace stoker

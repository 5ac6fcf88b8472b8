#include "io/http/curl/transfer.h"

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

constexpr long kConnectMs = 20'000;
constexpr long kSlowBytesPerSecond = 1024;
constexpr int64_t kLongestWishS = 120;

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

}  // namespace

Transfer::Transfer(const HttpLimits& limits)
    : limits_(limits),
      handle_(curl_easy_init(), curl_easy_cleanup),
      headers_(nullptr, curl_slist_free_all) {
  if (handle_ == nullptr) throw std::bad_alloc();
}

template <class T>
void Transfer::set(CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(handle(), option, value);
  if (code == CURLE_OK) return;
  throw std::runtime_error(fmt::format("libcurl refuses option {}: {}", static_cast<int>(option),
                                       curl_easy_strerror(code)));
}

void Transfer::add_header(const std::string& line) {
  curl_slist* const longer = curl_slist_append(headers_.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(headers_.release());  // it is the beginning of the longer one
  headers_.reset(longer);
}

void Transfer::begin(const HttpRequest& request, const std::vector<std::string>& more_headers) {
  request_ = &request;
  curl_easy_reset(handle());
  headers_.reset();
  error_[0] = '\0';
  begun_ = false;
  target_ = Target::text;
  received_ = sent_ = 0;
  text_.clear();
  refused_.clear();
  thrown_.clear();
  set_request(more_headers);
  set_limits();

  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "stoker");
  // One connection for each request in flight: more streams, and what all servers speak.
  set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  // Refused after an attempt that found no host: the handle has the buffer of that one still.
  static_cast<void>(curl_easy_setopt(handle(), CURLOPT_BUFFERSIZE, 256L << 10));
  set(CURLOPT_ERRORBUFFER, error_);
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(CURLOPT_WRITEDATA, this);
  if (is_this_machine(request.url)) set(CURLOPT_NOPROXY, "*");
}

void Transfer::set_limits() {
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, limits_.redirects ? 1L : 0L);
  set(CURLOPT_MAXREDIRS, 10L);
  const auto timeout = static_cast<long>(limits_.timeout_ms * request_->patience);
  set(CURLOPT_TIMEOUT_MS, timeout);
  set(CURLOPT_CONNECTTIMEOUT_MS, timeout == 0 ? kConnectMs : std::min(timeout, kConnectMs));
  if (limits_.slow_ms > 0) {
    const auto slow = static_cast<long>(limits_.slow_ms * request_->patience);
    set(CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, slow / 1000));
  }
  if (!limits_.ca_file.empty()) set(CURLOPT_CAINFO, limits_.ca_file.c_str());
}

void Transfer::set_request(const std::vector<std::string>& more_headers) {
  set(CURLOPT_URL, request_->url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  add_header("Accept-Encoding: identity");  // parts of something compressed are of no use
  for (const std::string& line : request_->headers) add_header(line);
  for (const std::string& line : more_headers) add_header(line);
  if (request_->method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (request_->body) {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_READFUNCTION, &Transfer::on_send);
    set(CURLOPT_READDATA, this);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_->body->size()));
    add_header("Expect:");  // no waiting for a permission
  }
  if (request_->method != "HEAD") set(CURLOPT_CUSTOMREQUEST, request_->method.c_str());
  set(CURLOPT_HTTPHEADER, headers_.get());
}

size_t Transfer::on_body(char* data, size_t, size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  try {
    return transfer.take({reinterpret_cast<const uint8_t*>(data), size}) ? size : 0;
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

// Takes it from the last answer, behind all redirects.
std::string Transfer::header(const char* name) const {
  curl_header* found = nullptr;
  const CURLHcode code = curl_easy_header(handle(), name, 0, CURLH_HEADER, -1, &found);
  return code == CURLHE_OK ? found->value : "";
}

HttpHead Transfer::head() const {
  HttpHead head;
  curl_easy_getinfo(handle(), CURLINFO_RESPONSE_CODE, &head.status);
  head.type = header("Content-Type");
  head.encoding = header("Content-Encoding");
  head.etag = header("ETag");
  head.modified = header("Last-Modified");
  curl_off_t length = -1;
  curl_easy_getinfo(handle(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  if (length >= 0) head.length = static_cast<uint64_t>(length);
  if (head.status == 206 || head.status == 416) {
    head.range = parse_content_range(header("Content-Range"));
  }
  return head;
}

// Passes bytes to `stream`. False: it refused them.
bool Transfer::received(const HttpHead& head, Bytes bytes) {
  try {
    request_->stream(head, bytes);
    return true;
  } catch (const IoError& error) {
    thrown_ = error.what();
    thrown_errno_ = error.errno_value();
    return false;
  }
}

// Once for each attempt, when the head is complete.
bool Transfer::begin_body() {
  begun_ = true;
  head_ = head();
  if (head_.status != 200 && head_.status != 206) return true;
  if (request_->stream) {
    target_ = Target::stream;
    return received(head_, {});
  }
  if (!request_->place) return true;
  try {
    room_ = request_->place(head_);
  } catch (const IoError& error) {
    thrown_ = error.what();
    thrown_errno_ = error.errno_value();
    return false;
  }
  target_ = Target::room;
  return true;
}

bool Transfer::take(Bytes bytes) {
  if (!begun_ && !begin_body()) return false;
  if (target_ == Target::text) return keep_text(bytes);
  if (target_ == Target::stream) return received(head_, bytes);
  if (bytes.size() > room_.size() - received_) {
    refused_ = "the server sent more bytes than were asked for";
    return false;
  }
  std::memcpy(room_.data() + received_, bytes.data(), bytes.size());
  received_ += bytes.size();
  return true;
}

bool Transfer::keep_text(Bytes bytes) {
  if (bytes.size() > limits_.most_text - text_.size()) {
    refused_ = fmt::format("the server's answer has more than {} MiB", limits_.most_text >> 20);
    return false;
  }
  text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return true;
}

TransferOutcome Transfer::failed(CURLcode code, bool host_found) const {
  TransferOutcome outcome;
  HttpAnswer& answer = outcome.answer;
  answer.by_receiver = !thrown_.empty();
  if (answer.by_receiver) {
    answer.failure = answer.cause = thrown_;
    answer.errno_value = thrown_errno_;
    return outcome;
  }
  answer.cause = !refused_.empty() ? refused_ : curl_easy_strerror(code);
  answer.failure = refused_.empty() && error_[0] != '\0' ? error_ : answer.cause;
  answer.errno_value = errno_of(code);
  outcome.again = may_pass(code, host_found);
  return outcome;
}

TransferOutcome Transfer::end(CURLcode code, bool host_found) {
  if (code != CURLE_OK) return failed(code, host_found);
  if (!begun_ && !begin_body()) return failed(CURLE_WRITE_ERROR, host_found);  // an empty body
  TransferOutcome outcome;
  HttpAnswer& answer = outcome.answer;
  answer.head = head();
  answer.text = std::move(text_);
  const long status = answer.head.status;
  if (may_pass(status, answer.text)) {
    answer.failure = fmt::format("the server answered {}", status);
    answer.errno_value = status == 408 || status == 504 ? ETIMEDOUT : EIO;
    curl_off_t wish = 0;
    curl_easy_getinfo(handle(), CURLINFO_RETRY_AFTER, &wish);
    outcome.retry_after_ms = std::clamp<int64_t>(wish, 0, kLongestWishS) * 1000;
  } else if (target_ == Target::room && received_ != room_.size()) {
    answer.failure = fmt::format("the server sent {} of {} bytes", received_, room_.size());
    answer.errno_value = EIO;
  }
  outcome.again = !answer.failure.empty();
  answer.cause = answer.failure;
  return outcome;
}

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

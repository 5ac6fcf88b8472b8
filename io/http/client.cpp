#include "io/http/client.h"

#include <curl/curl.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include "io/core/error.h"

namespace stoker {
namespace {

constexpr size_t kMaxReply = size_t{16} << 20;

void global_init() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw std::runtime_error("curl_global_init failed");
}

// A C callback must not throw: a short count makes curl_easy_perform() fail.
size_t keep_body(char* bytes, size_t size, size_t count, void* target) {
  auto& body = *static_cast<std::string*>(target);
  if (size * count > kMaxReply - body.size()) return 0;
  try {
    body.append(bytes, size * count);
  } catch (const std::exception&) {
    return 0;
  }
  return size * count;
}

class Request {
 public:
  Request(std::string method, std::string url, std::chrono::milliseconds timeout)
      : method_(std::move(method)), url_(std::move(url)) {
    if (!handle_) throw std::runtime_error("curl_easy_init failed");
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_CUSTOMREQUEST, method_.c_str());
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_WRITEFUNCTION, &keep_body);
    set(CURLOPT_WRITEDATA, &reply_.body);
    set(CURLOPT_USERAGENT, "stoker");
  }

  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(handle_.get(), option, value);
  }

  void header(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(headers_.release());  // it is the beginning of the longer one
    headers_.reset(longer);
  }

  HttpReply perform() {
    set(CURLOPT_HTTPHEADER, headers_.get());
    const CURLcode code = curl_easy_perform(handle_.get());
    if (code != CURLE_OK) {
      const char* cause =
          code == CURLE_WRITE_ERROR ? "the reply has more than 16 MiB" : curl_easy_strerror(code);
      throw Error(ExitCode::environment, method_ + " " + url_ + ": " + cause);
    }
    long status = 0;
    const char* type = nullptr;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(handle_.get(), CURLINFO_CONTENT_TYPE, &type);
    reply_.status = static_cast<int>(status);
    if (type != nullptr) reply_.type = type;
    return std::move(reply_);
  }

 private:
  const std::string method_;
  const std::string url_;
  HttpReply reply_;
  std::unique_ptr<CURL, void (*)(CURL*)> handle_{curl_easy_init(), curl_easy_cleanup};
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers_{nullptr, curl_slist_free_all};
};

}  // namespace

HttpReply http_get(const HttpAddress& address, const std::string& path,
                   std::chrono::milliseconds timeout) {
  global_init();
  const HttpAddress to = address.destination();
  Request request("GET", "http://" + Scalar<HttpAddress>::format(to) + path, timeout);
  if (to.loopback()) request.set(CURLOPT_NOPROXY, "*");
  return request.perform();
}

HttpReply http_put(const std::string& url, const std::string& path, const std::string& content_type,
                   const std::string& body, std::chrono::milliseconds timeout) {
  if (!url.starts_with("http://")) {
    throw Error(ExitCode::environment, "PUT " + url + ": expected a URL such as http://host:9091");
  }
  global_init();
  const std::string base = url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
  Request request("PUT", base + path, timeout);
  HttpAddress address;
  const std::string host = base.substr(7, base.find('/', 7) - 7);
  const bool numeric = Scalar<HttpAddress>::parse(host, address) ||
                       Scalar<HttpAddress>::parse(host + ":80", address);
  if (numeric && address.loopback()) request.set(CURLOPT_NOPROXY, "*");
  request.set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  request.set(CURLOPT_POSTFIELDS, body.c_str());
  request.header("Content-Type: " + content_type);
  request.header("Expect:");  // else a body above 1 KiB waits for a permission
  return request.perform();
}

}  // namespace stoker

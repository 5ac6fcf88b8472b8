#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/core/config/registry.h"
#include "io/http/address.h"
#include "io/http/exchange.h"
#include "io/http/message.h"

namespace stoker {

// What holds for all requests of a transport. A value.
struct HttpLimits {
  int64_t timeout_ms = 60'000;  // for one attempt; 0: an attempt may take as long as it goes on
  // An attempt fails that gets less than 1 KiB/s for this long; 0: it may be as slow as it is.
  int64_t slow_ms = 30'000;
  // An answer that goes into memory of our own (a listing, an error) has at most this many bytes.
  uint64_t most_text = uint64_t{64} << 20;
  bool redirects = false;    // are followed, as far as to http and https
  std::string ca_file = {};  // certificates to trust; empty: the system's
};

// How often a request is made again, and how long the waits are. A value.
//
// Before attempt n + 1 there is a wait between 0 and base * 2^(n - 1), at most `longest`: "full
// jitter" (Brooker, "Exponential backoff and jitter", AWS 2015), so that many readers whom a server
// turned away do not come back at once. It is never shorter than the server asked for by
// Retry-After. What is made again is one rule for all: io/http/curl/transfer.h.
struct RetryPolicy {
  int64_t retries = 6;
  int64_t base_ms = 100;
  int64_t longest_ms = 10'000;
};

// Makes HTTP requests over connections that stay open, several at a time. Any thread.
//
// A request that fails in a way that may pass is made again, by the policy. When no attempt is
// left, its answer has a failure that names the request, the cause and what can be done. Any other
// answer of a server, also 404, is an answer.
//
// The one implementation, "curl", is in the plug-in stoker_http, so that the core needs no libcurl.
class HttpTransport {
 public:
  static constexpr const char* kKind = "http transport";
  struct Inputs {
    // Requests in flight, each on a connection of its own. 0: as many as the server bears
    // (io/http/in_flight_limit.h).
    int64_t in_flight = 16;
    HttpLimits limits = {};
    RetryPolicy retry = {};
    // What a message says behind "after 7 attempts": "; more by the tier's `retries`".
    std::string more_attempts = {};
    // Headers that are made for each attempt, such as a signature. Called by the transport's
    // thread.
    std::function<std::vector<std::string>(const HttpRequest&)> headers = {};
    // Told why the first of all requests is made again. Called by the transport's thread.
    std::function<void(const std::string&)> retried = {};
    // Told how many requests may be in flight, at first and whenever that changes. Likewise.
    std::function<void(int64_t)> most_in_flight = {};
  };

  // What is not answered yet fails. Waits for no server.
  virtual ~HttpTransport() = default;
  // Never blocks. IoError where the transport has ended.
  virtual std::future<HttpAnswer> start(HttpRequest request) = 0;

  // Waits for an answer. IoError where it is a failure; Interrupted where that is because this
  // thread was told to give up (HttpRequest::stop).
  static HttpAnswer get(std::future<HttpAnswer> answer);
  // start() and get().
  HttpAnswer perform(HttpRequest request) { return get(start(std::move(request))); }
};

template <>
Registry<HttpTransport>& Registry<HttpTransport>::global();

// Loads the plug-in that has the transport, for who wants to know early that it is there.
// Error(ExitCode::environment), which names the plug-in, where it cannot be loaded. Any thread.
void load_http_transport();
// The transport that this program has; its plug-in is loaded on first use. Any thread; the same
// Error.
std::unique_ptr<HttpTransport> new_http_transport(const HttpTransport::Inputs& inputs);

// Makes one request, once, and returns the reply, whatever its status. A reply has at most 16 MiB;
// redirects are not followed. A proxy that the environment names is not used for this machine's own
// addresses. Any thread.
//
// Error(ExitCode::environment), "GET http://127.0.0.1:9464/healthz: Couldn't connect to server",
// where no complete reply comes in time, or where the plug-in stoker_http cannot be loaded.
HttpReply http_get(const HttpAddress& address, const std::string& path,
                   std::chrono::milliseconds timeout);

// The same with a body. `url` is "http://host:port", as a Pushgateway has it; the path is appended
// to it. Another kind of URL is an Error(ExitCode::environment).
HttpReply http_put(const std::string& url, const std::string& path, const std::string& content_type,
                   const std::string& body, std::chrono::milliseconds timeout);

}  // namespace stoker

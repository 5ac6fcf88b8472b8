#include "io/http/transport.h"

#include <cerrno>
#include <memory>
#include <utility>

#include "io/core/error.h"

namespace stoker {

template <>
Registry<HttpTransport>& Registry<HttpTransport>::global() {
  static Registry<HttpTransport> registry;
  return registry;
}

HttpAnswer HttpTransport::get(std::future<HttpAnswer> answer) {
  HttpAnswer got = answer.get();
  if (got.errno_value == ECANCELED) throw_if_interrupted();
  if (!got.failure.empty()) throw IoError(got.failure, got.errno_value);
  return got;
}

void load_http_transport() {
  try {
    (void)Registry<HttpTransport>::global().need("curl");
  } catch (const Error& error) {
    throw Error(ExitCode::environment, error.what());  // no configuration names it
  }
}

std::unique_ptr<HttpTransport> new_http_transport(const HttpTransport::Inputs& inputs) {
  load_http_transport();
  return default_component<HttpTransport>("curl").create(inputs);
}

namespace {

constexpr uint64_t kMaxReply = uint64_t{16} << 20;

HttpReply ask(HttpRequest request, std::chrono::milliseconds timeout) {
  HttpTransport::Inputs inputs{.in_flight = 1, .retry = {.retries = 0}};
  inputs.limits = {.timeout_ms = timeout.count(), .slow_ms = 0, .most_text = kMaxReply};
  request.shown = request.method + " " + request.url;
  const std::string shown = request.shown;
  const auto transport = new_http_transport(inputs);
  HttpAnswer answer = transport->start(std::move(request)).get();
  if (answer.head.status == 0) throw Error(ExitCode::environment, shown + ": " + answer.cause);
  return {static_cast<int>(answer.head.status), std::move(answer.head.type),
          std::move(answer.text)};
}

}  // namespace

HttpReply http_get(const HttpAddress& address, const std::string& path,
                   std::chrono::milliseconds timeout) {
  const std::string host = Scalar<HttpAddress>::format(address.destination());
  return ask({.url = "http://" + host + path, .shown = {}}, timeout);
}

HttpReply http_put(const std::string& url, const std::string& path, const std::string& content_type,
                   const std::string& body, std::chrono::milliseconds timeout) {
  if (!url.starts_with("http://")) {
    throw Error(ExitCode::environment, "PUT " + url + ": expected a URL such as http://host:9091");
  }
  const std::string base = url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
  return ask({.method = "PUT",
              .url = base + path,
              .shown = {},
              .headers = {"Content-Type: " + content_type},
              .body = std::make_shared<const std::string>(body)},
             timeout);
}

}  // namespace stoker

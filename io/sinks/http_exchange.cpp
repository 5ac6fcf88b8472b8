#include "io/sinks/http_exchange.h"

#include <httplib.h>
#include <strings.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

namespace stoker {
namespace {

constexpr const char* kBadRequest =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
// The status page is one file that asks this server and nobody else.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

// httplib's constructor ignores SIGPIPE for the whole process; `stoker ... | head` should end.
class KeepSigpipe {
 public:
  KeepSigpipe() { ::sigaction(SIGPIPE, nullptr, &old_); }
  ~KeepSigpipe() { ::sigaction(SIGPIPE, &old_, nullptr); }
  KeepSigpipe(const KeepSigpipe&) = delete;
  KeepSigpipe& operator=(const KeepSigpipe&) = delete;

 private:
  struct sigaction old_ {};
};

// A connection in memory. httplib's own one waits in select() or poll() for every read, without a
// limit on the length of a line.
class MemoryStream final : public httplib::Stream {
 public:
  explicit MemoryStream(std::string_view input) : input_(input) {}
  std::string take() { return std::move(output_); }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* target, size_t size) override {
    const size_t count = std::min(size, input_.size());
    std::memcpy(target, input_.data(), count);
    input_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    output_.append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return 0; }  // compared with FD_SETSIZE

 private:
  std::string_view input_;
  std::string output_;
};

bool starts_with_name(std::string_view line, std::string_view name) {
  return line.size() >= name.size() && ::strncasecmp(line.data(), name.data(), name.size()) == 0;
}

// Without the headers that would make httplib work for the client's pleasure: it compresses, and
// matches ranges with a recursive std::regex. Lines end where httplib ends them.
std::string without_costly_headers(std::string_view request) {
  std::string kept;
  while (!request.empty()) {
    const std::string_view line = request.substr(0, request.find('\n') + 1);
    const std::string_view whole = line.empty() ? request : line;
    if (!starts_with_name(whole, "range:") && !starts_with_name(whole, "accept-encoding:")) {
      kept += whole;
    }
    request.remove_prefix(whole.size());
  }
  return kept;
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Transfer-Encoding") ||
         (request.has_header("Content-Length") &&
          request.get_header_value("Content-Length") != "0");
}

void set(httplib::Response& response, const HttpReply& reply) {
  response.status = reply.status;
  response.set_content(reply.body, reply.type);
  if (reply.type.starts_with("text/html")) {
    response.set_header("Content-Security-Policy", kPagePolicy);
  }
}

HttpReply plain(int status, const std::string& text) {
  return {status, "text/plain; charset=utf-8", text + "\n"};
}

}  // namespace

// Request and Response are read and written through references only: Debian compiles the library
// with options that change the size of Request (not of what comes before `ssl` in it).
class HttpExchange::Responder final : public httplib::Server {
 public:
  explicit Responder(std::vector<HttpRoute> routes) : routes_(std::move(routes)) {
    set_default_headers({{"Accept-Ranges", "none"},
                         {"Cache-Control", "no-store"},
                         {"X-Content-Type-Options", "nosniff"}});
    set_expect_100_continue_handler(
        [](const httplib::Request&, httplib::Response& response) { return response.status = 413; });
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      respond(request, response);
      return HandlerResponse::Handled;
    });
  }

  std::string answer(std::string_view request) {
    MemoryStream stream(request);
    bool closed = false;
    process_request(stream, /*close_connection=*/true, closed, nullptr);
    return stream.take();
  }

 private:
  void respond(const httplib::Request& request, httplib::Response& response) const {
    if (request.method != "GET" && request.method != "HEAD") {
      set(response, plain(405, "only GET and HEAD"));
      response.set_header("Allow", "GET, HEAD");
      return;
    }
    if (has_body(request)) return set(response, plain(413, "this server takes no bodies"));
    const auto route = std::find_if(routes_.begin(), routes_.end(), [&](const HttpRoute& each) {
      return each.path == request.path;
    });
    if (route == routes_.end()) return set(response, plain(404, "not found"));
    try {
      set(response, route->handler());
    } catch (const std::exception& error) {
      set(response, plain(500, error.what()));
    } catch (...) {
      set(response, plain(500, "unknown exception"));
    }
  }

  const std::vector<HttpRoute> routes_;
};

HttpExchange::HttpExchange(std::vector<HttpRoute> routes) {
  const KeepSigpipe keep;
  responder_ = std::make_unique<Responder>(std::move(routes));
}

HttpExchange::~HttpExchange() = default;

std::string HttpExchange::answer(const std::string& request) {
  try {
    return responder_->answer(without_costly_headers(request));
  } catch (const std::exception&) {  // of httplib's parser
    return kBadRequest;
  }
}

}  // namespace stoker

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "io/core/error.h"
#include "io/http/server.h"
#include "io/http/transport.h"
#include "tests/support/errors.h"
#include "tests/support/http_server.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::chrono::seconds kTimeout{20};

uint16_t port_of(const HttpServer& server) {
  const std::string url = server.url("");
  return static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

TEST(HttpGet, returns_every_status) {
  const WebServer server({"127.0.0.1", 0}, false,
                         {{"/healthz",
                           [] {
                             return HttpReply{200, "text/plain", "fine\n"};
                           }},
                          {"/sick", [] {
                             return HttpReply{503, "text/plain", "stalled\n"};
                           }}});
  const HttpReply fine = http_get(server.address(), "/healthz", kTimeout);
  EXPECT_EQ(fine.status, 200);
  EXPECT_EQ(fine.type, "text/plain");
  EXPECT_EQ(fine.body, "fine\n");
  EXPECT_EQ(http_get(server.address(), "/sick", kTimeout).status, 503);
  EXPECT_EQ(http_get(server.address(), "/none", kTimeout).status, 404);
}

TEST(HttpGet, reaches_a_server_that_listens_everywhere) {
  const WebServer server({"0.0.0.0", 0}, false, {{"/", [] {
                                                    return HttpReply{200, "text/plain", "x"};
                                                  }}});
  EXPECT_EQ(http_get({"0.0.0.0", server.address().port}, "/", kTimeout).body, "x");
}

TEST(HttpGet, takes_no_proxy_on_the_way_to_this_machine) {
  const WebServer server({"127.0.0.1", 0}, false, {{"/", [] {
                                                      return HttpReply{200, "text/plain", "direct"};
                                                    }}});
  HttpServer proxy([](const std::string&) { return HttpResponse{.body = "by the proxy"}; });
  ::setenv("http_proxy", proxy.url("").c_str(), 1);
  const HttpReply reply = http_get(server.address(), "/", kTimeout);
  const HttpReply put = http_put("http://" + Scalar<HttpAddress>::format(server.address()), "/",
                                 "text/plain", "x", kTimeout);
  ::unsetenv("http_proxy");
  EXPECT_EQ(reply.body, "direct");
  EXPECT_EQ(put.status, 405);
  EXPECT_TRUE(proxy.requests().empty());
}

TEST(HttpGet, names_what_it_asked_where_nothing_answers) {
  HttpAddress address;
  {
    const WebServer server({"127.0.0.1", 0}, false, {});
    address = server.address();
  }
  const std::string url = "http://" + Scalar<HttpAddress>::format(address) + "/healthz";
  EXPECT_THAT(error_of([&] { http_get(address, "/healthz", kTimeout); }),
              StartsWith("GET " + url + ": "));
  try {
    http_get(address, "/healthz", kTimeout);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
  }
}

TEST(HttpGet, does_not_wait_for_ever) {
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage where{};
  socklen_t size = to_socket({"127.0.0.1", 0}, where);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&where), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&where), &size);
  EXPECT_THAT(error_of([&] { http_get(from_socket(where), "/", std::chrono::milliseconds(50)); }),
              HasSubstr("Timeout was reached"));
}

TEST(HttpGet, refuses_a_reply_that_breaks_off_or_has_no_end) {
  HttpServer broken([](const std::string&) { return HttpResponse{.body = "abcdef", .send = 3}; });
  EXPECT_THROW(http_get({"127.0.0.1", port_of(broken)}, "/", kTimeout), Error);
  HttpServer large([](const std::string&) {
    return HttpResponse{.body = std::string((size_t{16} << 20) + 1, 'x')};
  });
  EXPECT_THAT(error_of([&] {
                http_get({"127.0.0.1", port_of(large)}, "/", kTimeout);
              }),
              HasSubstr("more than 16 MiB"));
}

TEST(HttpPut, sends_the_body_with_its_type) {
  HttpServer gateway([](const std::string&) { return HttpResponse{.status = "202 Accepted"}; });
  const std::string body(5000, 'm');
  for (const std::string& url : {gateway.url(""), gateway.url("/")}) {
    EXPECT_EQ(http_put(url, "/metrics/job/stoker", "text/plain", body, kTimeout).status, 202);
  }
  ASSERT_EQ(gateway.requests().size(), 2u);
  for (const std::string& request : gateway.requests()) {
    EXPECT_THAT(request, StartsWith("PUT /metrics/job/stoker HTTP/1.1\r\n"));
    EXPECT_THAT(request, HasSubstr("Content-Type: text/plain\r\n"));
    EXPECT_THAT(request, HasSubstr("Content-Length: 5000\r\n"));
    EXPECT_THAT(request, Not(HasSubstr("Expect:")));
  }
}

TEST(HttpPut, refuses_what_is_no_url) {
  for (const char* url : {"", "127.0.0.1:9091", "file:///etc/passwd"}) {
    EXPECT_THAT(error_of([&] { http_put(url, "/", "text/plain", "x", kTimeout); }),
                HasSubstr("expected a URL such as http://host:9091"));
  }
}

}  // namespace
}  // namespace stoker

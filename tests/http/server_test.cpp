#include "io/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "tests/sinks/http_socket.h"
#include "tests/support/errors.h"
#include "tests/support/short_tests.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const HttpAddress kAnyPort{"127.0.0.1", 0};
constexpr size_t kLarge = size_t{10} << 20;  // more than a socket holds

size_t entries(const char* directory) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

HttpRoutes routes() {
  return {{"/healthz",
           [] {
             return HttpReply{200, "text/plain", "fine\n"};
           }},
          {"/",
           [] {
             return HttpReply{200, "text/html; charset=utf-8", "<p>page</p>"};
           }},
          {"/sick",
           [] {
             return HttpReply{503, "text/plain", "no step for 200 s\n"};
           }},
          {"/large",
           [] {
             return HttpReply{200, "text/plain", std::string(kLarge, 'x')};
           }},
          {"/begin",
           {[] {
              return HttpReply{200, "text/plain", "begun\n"};
            },
            HttpRoute::Method::post}},
          {"/throws", []() -> HttpReply { throw std::runtime_error("the hub is gone"); }},
          {"/throws_int", []() -> HttpReply { throw 1; }}};
}

struct Server : testing::Test {
  WebServer server{kAnyPort, false, routes(), {"node3"}};

  std::string ask(const std::string& request) const { return exchange(server.address(), request); }
  std::string get(const std::string& path) const {
    return ask("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  bool healthy() const { return get("/healthz").ends_with("\r\n\r\nfine\n"); }
};

TEST_F(Server, answers_its_routes) {
  const std::string reply = get("/healthz?verbose=1");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, EndsWith("\r\n\r\nfine\n"));
  for (const char* header :
       {"Content-Length: 5\r\n", "Content-Type: text/plain\r\n", "Cache-Control: no-store\r\n",
        "X-Content-Type-Options: nosniff\r\n", "Connection: close\r\n"}) {
    EXPECT_THAT(reply, HasSubstr(header));
  }
  EXPECT_THAT(reply, Not(HasSubstr("Content-Security-Policy")));
  EXPECT_THAT(get("/sick"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(get("/sick"), EndsWith("no step for 200 s\n"));
}

TEST_F(Server, a_page_may_use_nothing_from_elsewhere) {
  EXPECT_THAT(get("/"), HasSubstr("Content-Security-Policy: default-src 'none';"));
}

TEST_F(Server, head_has_the_headers_of_get_and_no_body) {
  const std::string reply = ask("HEAD /healthz HTTP/1.1\r\n\r\n");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(reply, EndsWith("\r\n\r\n"));
}

TEST_F(Server, refuses_other_paths_methods_and_bodies) {
  EXPECT_THAT(get("/none"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("/../etc/passwd"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("http://127.0.0.1/healthz"), StartsWith("HTTP/1.1 404 "));
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"}) {
    const std::string reply = ask(method + std::string(" /healthz HTTP/1.1\r\n\r\n"));
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 405 ")) << method;
    EXPECT_THAT(reply, HasSubstr("Allow: GET, HEAD\r\n"));
  }
  for (const char* header : {"Content-Length: 4", "Content-Length: 99999999999999999999",
                             "Transfer-Encoding: chunked", "Expect: 100-continue"}) {
    const std::string reply =
        ask("GET /healthz HTTP/1.1\r\n" + std::string(header) + "\r\n\r\nbody");
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 413 ")) << header;
    EXPECT_EQ(reply.find("HTTP/1.1", 1), std::string::npos) << "more than one reply";
  }
  EXPECT_THAT(
      ask("POST /healthz HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + std::string(200000, 'x')),
      StartsWith("HTTP/1.1 405 "));
}

TEST_F(Server, what_does_something_is_asked_for_by_post_and_by_no_strangers_page) {
  const auto status = [&](const std::string& method, const std::string& headers) {
    return ask(method + " /begin HTTP/1.1\r\n" + headers + "\r\n").substr(9, 3);
  };
  for (const char* own :
       {"", "Host: localhost\r\n", "Host: localhost:9464\r\nContent-Length: 0\r\n",
        "Host: node3:80\r\nOrigin: http://node3:80\r\n"}) {
    EXPECT_EQ(status("POST", own), "200") << own;
  }
  for (const char* strange :
       {"Host: localhost\r\nOrigin: http://evil.example\r\n", "Host: localhost\r\nOrigin: null\r\n",
        "Host: localhost:9464\r\nOrigin: http://localhost:80\r\n", "Origin: http://localhost\r\n",
        "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\n"}) {
    EXPECT_EQ(status("POST", strange), "403") << strange;
  }
  EXPECT_EQ(status("POST", "Host: evil.example\r\n"), "421");
  EXPECT_EQ(status("POST", "Content-Length: 1\r\n"), "413");
  for (const char* method : {"GET", "HEAD", "PUT"}) EXPECT_EQ(status(method, ""), "405") << method;
  EXPECT_THAT(get("/begin"), HasSubstr("Allow: POST\r\n"));
}

// A browser that resolves a stranger's name to this machine says the name.
TEST_F(Server, answers_to_its_own_names_only) {
  const auto status = [&](const std::string& headers) {
    return ask("GET /healthz HTTP/1.1\r\n" + headers + "\r\n").substr(9, 3);
  };
  for (const char* own : {"localhost", "LocalHost:9464", "localhost.", "127.0.0.1:1", "127.8.8.8",
                          "[::1]", "[::1]:9464", "node3", "NODE3:80"}) {
    EXPECT_EQ(status(std::string("Host: ") + own + "\r\n"), "200") << own;
  }
  EXPECT_EQ(status(""), "200");
  for (const char* other : {"evil.example", "localhost.evil.example", "10.0.0.1", "", "[::2]", "[",
                            "127.0.0.1.evil.example", "node33", "\xff"}) {
    EXPECT_EQ(status(std::string("Host: ") + other + "\r\n"), "421") << other;
  }
  EXPECT_EQ(status("Host: localhost\r\nHost: evil.example\r\n"), "421");
}

TEST(HttpHosts, on_all_addresses_any_number_is_ours) {
  for (const char* everywhere : {"0.0.0.0", "::"}) {
    const HttpHosts hosts{{everywhere, 9464}, {}};
    EXPECT_TRUE(hosts.include("10.1.2.3:9464"));
    EXPECT_TRUE(hosts.include("[2001:db8::1]:9464"));
    EXPECT_FALSE(hosts.include("evil.example"));
  }
}

TEST_F(Server, a_handler_that_throws_is_a_reply) {
  EXPECT_THAT(get("/throws"), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(get("/throws"), EndsWith("\r\n\r\nthe hub is gone\n"));
  EXPECT_THAT(get("/throws_int"), EndsWith("\r\n\r\nunknown exception\n"));
  EXPECT_TRUE(healthy());
}

TEST_F(Server, garbage_is_a_bad_request) {
  for (const std::string& request :
       {std::string("\r\n\r\n"), std::string("\0\0\0\r\n\r\n", 7), std::string("GET\r\n\r\n"),
        std::string("GET /healthz\r\n\r\n"), std::string("GET /healthz HTTP/9.9\r\n\r\n"),
        std::string("get /healthz HTTP/1.1\r\n\r\n"), std::string(" /healthz HTTP/1.1\r\n\r\n"),
        std::string("\x16\x03\x01\x02\r\n\r\n"), std::string(400, '\xff') + "\r\n\r\n"}) {
    EXPECT_THAT(ask(request), StartsWith("HTTP/1.1 400 ")) << request;
  }
  EXPECT_TRUE(healthy());
}

TEST_F(Server, odd_headers_and_escapes_do_no_harm) {
  std::string ranges = "bytes=0-0";
  while (ranges.size() < 15000) ranges += ",0-0";
  for (const std::string& header :
       {"Range: " + ranges, std::string("Range: bytes=99999999999999999999-"),
        std::string("rAnGe: bytes=0-1"), std::string("Accept-Encoding: gzip, br"),
        std::string("no colon"), std::string(": nameless"), std::string("X:"),
        "X: " + std::string(8000, 'y'), std::string("X: %"), std::string("X: %u12"),
        std::string("Content-Length: 0"), std::string("a\nRange: bytes=1-1")}) {
    const std::string reply = ask("GET /healthz HTTP/1.1\r\n" + header + "\r\n\r\n");
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 ")) << header.substr(0, 40);
    EXPECT_THAT(reply, EndsWith("\r\n\r\nfine\n")) << header.substr(0, 40);
  }
  for (const char* path : {"/%", "/%2", "/%zz", "/%00", "/%u", "/%uD800", "/%ff%fe", "/#x"}) {
    EXPECT_THAT(get(path), StartsWith("HTTP/1.1 ")) << path;
  }
  EXPECT_THAT(get("/healthz?a?b"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(Server, requests_beyond_the_limit_are_refused) {
  EXPECT_THAT(get("/" + std::string(100000, 'a')), StartsWith("HTTP/1.1 4"));
  EXPECT_THAT(ask("GET /healthz HTTP/1.1\r\nX: " + std::string(100000, 'a')),
              StartsWith("HTTP/1.1 4"));
  std::string many = "GET /healthz HTTP/1.1\r\n";
  for (int i = 0; i < 5000; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
  EXPECT_THAT(ask(many + "\r\n"), StartsWith("HTTP/1.1 4"));
  // Megabytes without an end of line.
  RawClient client(server.address());
  while (client.send(std::string(65536, 'z'))) {
  }
  EXPECT_TRUE(healthy());
}

TEST_F(Server, a_request_may_come_byte_by_byte) {
  RawClient client(server.address());
  for (const char byte : std::string("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")) {
    ASSERT_TRUE(client.send(std::string(1, byte)));
  }
  EXPECT_THAT(client.receive(), EndsWith("\r\n\r\nfine\n"));
}

TEST_F(Server, half_a_request_gets_its_answer_or_the_end) {
  RawClient half(server.address());
  half.send("GET /healthz HTT");
  half.finish_sending();
  EXPECT_THAT(half.receive(), StartsWith("HTTP/1.1 400 "));
  RawClient nothing(server.address());
  nothing.finish_sending();
  EXPECT_EQ(nothing.receive(), "");
  RawClient silent(server.address());
  silent.send("GET /healthz HTTP/1.1\r\nX: ");
  EXPECT_EQ(silent.receive(), "");  // after the time for a request
}

TEST_F(Server, of_a_pipeline_the_first_request_is_answered) {
  const std::string request = "GET /healthz HTTP/1.1\r\n\r\n";
  const std::string reply = ask(request + request + request);
  EXPECT_THAT(reply, EndsWith("\r\n\r\nfine\n"));
  EXPECT_EQ(reply.find("HTTP/1.1", 1), std::string::npos);
}

TEST_F(Server, large_replies_arrive_whole_while_others_are_served) {
  RawClient slow(server.address());
  slow.send("GET /large HTTP/1.1\r\n\r\n");
  EXPECT_THAT(slow.receive(12), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(healthy());
  const std::string rest = slow.receive();
  EXPECT_EQ(rest.size() - rest.find("\r\n\r\n") - 4, kLarge);
}

TEST_F(Server, resets_do_no_harm) {
  for (size_t i = 0; i < 200 / stride(1); ++i) {
    RawClient client(server.address());
    if (i % 2 == 0) client.send(i % 4 == 0 ? "GET /large HTTP/1.1\r\n\r\n" : "GET /hea");
    client.reset();
  }
  EXPECT_TRUE(healthy());
}

TEST_F(Server, open_connections_are_bounded_and_keep_nobody_out) {
  EXPECT_TRUE(healthy());
  const size_t threads = entries("/proc/self/task");
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.address()));
    clients.back()->send(i % 3 == 0 ? "" : "GET /healthz HTTP/1.1\r\nX: ");
  }
  EXPECT_TRUE(healthy());
  // Each client has one descriptor here, the server at most 64.
  EXPECT_LE(entries("/proc/self/fd"), 200u + 64u + 40u);
  EXPECT_EQ(entries("/proc/self/task"), threads);
}

TEST_F(Server, serves_many_at_once) {
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 50; ++k) answered += healthy() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(answered, 400);
}

TEST_F(Server, two_do_not_share_a_port) {
  const std::string where = Scalar<HttpAddress>::format(server.address());
  EXPECT_THAT(error_of([&] { WebServer(server.address(), false, {}); }),
              StartsWith("cannot listen on " + where + ": Address already in use; "));
  try {
    WebServer(server.address(), false, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
  }
  const WebServer other(server.address(), true, routes());
  EXPECT_NE(other.address().port, server.address().port);
  EXPECT_THAT(exchange(other.address(), "GET /healthz HTTP/1.1\r\n\r\n"), EndsWith("fine\n"));
}

TEST(WebServer, says_what_is_wrong_with_an_address) {
  EXPECT_THAT(error_of([] {
                WebServer({"203.0.113.7", 9464}, true, {});
              }),
              AllOf(StartsWith("cannot listen on 203.0.113.7:9464: "),
                    HasSubstr("name an address of this machine")));
}

TEST(WebServer, ends_with_open_connections_and_frees_its_port) {
  auto server = std::make_unique<WebServer>(kAnyPort, false, routes());
  const HttpAddress address = server->address();
  RawClient silent(address);
  RawClient half(address);
  half.send("GET /healthz HT");
  RawClient deaf(address);  // asks for more than the sockets hold and does not read it
  deaf.send("GET /large HTTP/1.1\r\n\r\n");
  EXPECT_EQ(deaf.receive(4), "HTTP");
  server.reset();
  EXPECT_EQ(silent.receive(), "");
  const WebServer next(address, false, routes());
  EXPECT_EQ(next.address().port, address.port);
}

TEST(WebServer, a_reply_under_way_survives_its_end) {
  constexpr size_t kSize = 200000;  // as /metrics has
  auto server = std::make_unique<WebServer>(
      kAnyPort, false, HttpRoutes{{"/metrics", [] {
                                     return HttpReply{200, "text/plain", std::string(kSize, 'x')};
                                   }}});
  RawClient client(server->address());
  client.send("GET /metrics HTTP/1.1\r\n\r\n");
  std::string reply = client.receive(12);
  const std::jthread end([&] { server.reset(); });
  reply += client.receive();
  EXPECT_EQ(reply.size() - reply.find("\r\n\r\n") - 4, kSize);
}

// The first answer is made only when the second one is here; and the end does not wait for one that
// would never come.
TEST(WebServer, at_once_no_request_waits_for_another) {
  std::promise<void> second;
  std::atomic<bool> waits = false;
  HttpRoutes slow = routes();
  slow.emplace("/slow", [&] {
    second.get_future().wait();
    return HttpReply{200, "text/plain", "slow\n"};
  });
  slow.emplace("/endless", [&]() -> HttpReply {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    waits = true;
    wait_interruptibly(never, lock, [] { return false; });
    return {};
  });
  const auto server = std::make_unique<WebServer>(kAnyPort, false, slow, std::vector<std::string>{},
                                                  Handling::at_once);
  RawClient first(server->address()), endless(server->address());
  first.send("GET /slow HTTP/1.1\r\n\r\n");
  endless.send("GET /endless HTTP/1.1\r\n\r\n");
  EXPECT_THAT(stoker::exchange(server->address(), "GET /healthz HTTP/1.1\r\n\r\n"),
              EndsWith("fine\n"));
  second.set_value();
  EXPECT_THAT(first.receive(), EndsWith("slow\n"));
  while (!waits) std::this_thread::yield();
}

TEST(WebServer, sends_no_version_again_that_the_client_has) {
  const WebServer server(kAnyPort, false, {{"/list", [] {
                                              return HttpReply{200, "text/plain", "long", "v1"};
                                            }}});
  const auto ask = [&](const std::string& has) {
    return stoker::exchange(server.address(),
                            "GET /list HTTP/1.1\r\nIf-None-Match: " + has + "\r\n\r\n");
  };
  EXPECT_THAT(ask("\"v0\""),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("ETag: \"v1\"\r\n"), EndsWith("long")));
  EXPECT_THAT(ask("\"v1\""), AllOf(StartsWith("HTTP/1.1 304 "), EndsWith("\r\n\r\n")));
}

TEST(WebServer, leaves_sigpipe_as_it_was) {
  struct sigaction before {};
  struct sigaction after {};
  ::sigaction(SIGPIPE, nullptr, &before);
  const WebServer server(kAnyPort, false, routes());
  ::sigaction(SIGPIPE, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace stoker

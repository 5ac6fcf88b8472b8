#include "io/http/transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/http/curl/transfer.h"
#include "tests/support/errors.h"
#include "tests/support/http_server.h"

namespace stoker {
namespace {

HttpTransport::Inputs quick(int64_t retries = 3) {
  HttpTransport::Inputs inputs;
  inputs.retry = {.retries = retries, .base_ms = 1, .longest_ms = 5};
  inputs.more_attempts = "; more by the tier's `retries`";
  return inputs;
}

TEST(RetryPolicies, the_waits_double_at_random_and_are_never_shorter_than_the_server_says) {
  const RetryPolicy policy{.retries = 9, .base_ms = 100, .longest_ms = 1000};
  Random random(1);
  int64_t most[8] = {};
  for (int round = 0; round < 2000; ++round) {
    for (int64_t attempts = 1; attempts < 8; ++attempts) {
      most[attempts] = std::max(most[attempts], wait_ms(policy, attempts, random, 0));
    }
  }
  EXPECT_NEAR(most[1], 100, 2);
  EXPECT_NEAR(most[2], 200, 3);
  EXPECT_NEAR(most[4], 800, 8);
  EXPECT_NEAR(most[7], 1000, 10);
  EXPECT_EQ(wait_ms(policy, 1, random, 5000), 5000);
}

TEST(HttpTransports, a_busy_server_is_asked_again_and_the_first_retry_is_told) {
  std::atomic<int> asked = 0;
  HttpServer server([&](const std::string&) {
    const int number = ++asked;
    if (number == 1) return HttpResponse{"503 Slow Down", "Retry-After: 0\r\n", "busy"};
    if (number == 2) return HttpResponse{"200 OK", "", "whole", 2};  // cut
    return HttpResponse{"200 OK", "ETag: \"1\"\r\n", "whole"};
  });
  HttpTransport::Inputs inputs = quick();
  std::string told;
  inputs.retried = [&](const std::string& why) { told += why; };
  const auto transport = new_http_transport(inputs);
  const HttpAnswer answer = transport->perform({.url = server.url("/a"), .shown = "read a"});
  EXPECT_EQ(answer.text, "whole");
  EXPECT_EQ(answer.attempt, 3);
  EXPECT_EQ(answer.head.etag, "\"1\"");
  EXPECT_EQ(told, "read a: the server answered 503");
}

TEST(HttpTransports, when_no_attempt_is_left_the_error_says_what_to_do) {
  HttpServer server([](const std::string&) { return HttpResponse{"429 Too Many", "", ""}; });
  const auto transport = new_http_transport(quick(2));
  EXPECT_EQ(error_of([&] { transport->perform({.url = server.url("/a"), .shown = "read a"}); }),
            "read a: the server answered 429 (after 3 attempts; more by the tier's `retries`)");
  EXPECT_EQ(server.requests().size(), 3);
}

TEST(HttpTransports, a_refusal_is_an_answer_and_not_asked_again) {
  HttpServer server([](const std::string&) { return HttpResponse{"403 Forbidden", "", "no"}; });
  const auto transport = new_http_transport(quick());
  EXPECT_EQ(transport->perform({.url = server.url("/a"), .shown = "read a"}).head.status, 403);
  EXPECT_EQ(server.requests().size(), 1);
}

TEST(HttpTransports, a_server_that_does_not_answer_runs_into_the_time_limit) {
  std::atomic<bool> go_on = false;
  HttpServer server([&](const std::string&) {
    go_on.wait(false);
    return HttpResponse{};
  });
  HttpTransport::Inputs inputs = quick(0);
  inputs.limits.timeout_ms = 50;
  const auto transport = new_http_transport(inputs);
  try {
    transport->perform({.url = server.url("/a"), .shown = "read a"});
    ADD_FAILURE();
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), ETIMEDOUT);
  }
  go_on = true;
  go_on.notify_all();
}

TEST(HttpTransports, what_is_under_way_ends_with_them) {
  std::atomic<bool> go_on = false;
  HttpServer server([&](const std::string&) {
    go_on.wait(false);
    return HttpResponse{};
  });
  std::vector<std::future<HttpAnswer>> answers;
  {
    const auto transport = new_http_transport(quick());
    for (int i = 0; i < 40; ++i) {
      answers.push_back(transport->start({.url = server.url("/a"), .shown = "read a"}));
    }
  }
  for (std::future<HttpAnswer>& answer : answers) {
    EXPECT_EQ(error_of([&] { HttpTransport::get(std::move(answer)); }),
              "read a: given up, for the tier's transfers end");
  }
  go_on = true;
  go_on.notify_all();
}

// As a reader of a loader that is told to stop.
template <class F>
void expect_given_up(HttpServer& server, HttpTransport& transport, const F& begun) {
  std::jthread reader([&](const std::stop_token& stop) {
    const Interruptible scope(stop);
    EXPECT_THROW(transport.perform({.url = server.url("/a"), .shown = "read a"}), Interrupted);
  });
  while (!begun()) std::this_thread::yield();
  reader.request_stop();
}

TEST(HttpTransports, a_request_that_is_not_answered_can_be_given_up) {
  std::atomic<bool> go_on = false;
  HttpServer server([&](const std::string&) {
    go_on.wait(false);
    return HttpResponse{"200 OK", "", "whole"};
  });
  HttpTransport::Inputs inputs = quick();
  inputs.in_flight = 1;
  const auto transport = new_http_transport(inputs);
  expect_given_up(server, *transport, [&] { return server.requests().size() == 1; });
  // One that waits for a free connection, too; and what nobody gives up goes on.
  const Interruptible nobody((std::stop_token()));
  std::future<HttpAnswer> other = transport->start({.url = server.url("/b"), .shown = "read b"});
  expect_given_up(server, *transport, [] { return true; });
  go_on = true;
  go_on.notify_all();
  EXPECT_EQ(HttpTransport::get(std::move(other)).text, "whole");
}

TEST(HttpTransports, a_request_that_waits_for_its_next_attempt_can_be_given_up) {
  HttpServer server([](const std::string&) {
    return HttpResponse{"503 Slow Down", "Retry-After: 100\r\n", "busy"};
  });
  std::atomic<bool> told = false;
  HttpTransport::Inputs inputs = quick();
  inputs.retried = [&](const std::string&) { told = true; };
  const auto transport = new_http_transport(inputs);
  expect_given_up(server, *transport, [&] { return told.load(); });
}

TEST(HttpTransports, nothing_is_begun_for_a_thread_that_was_told_to_give_up) {
  HttpServer server([](const std::string&) { return HttpResponse{"200 OK", "", "whole"}; });
  const auto transport = new_http_transport(quick());
  std::stop_source source;
  source.request_stop();
  const Interruptible scope(source.get_token());
  EXPECT_THROW(transport->perform({.url = server.url("/a"), .shown = "read a"}), Interrupted);
}

TEST(HttpTransports, a_host_that_was_never_found_is_not_asked_for_again) {
  EXPECT_FALSE(may_pass(CURLE_COULDNT_RESOLVE_HOST, false));
  EXPECT_TRUE(may_pass(CURLE_COULDNT_RESOLVE_HOST, true));
  EXPECT_TRUE(may_pass(CURLE_COULDNT_CONNECT, false));
  EXPECT_FALSE(may_pass(CURLE_PEER_FAILED_VERIFICATION, true));
}

TEST(HttpTransports, a_request_after_one_that_found_no_host_is_made) {
  HttpServer server([](const std::string& request) {
    if (request.starts_with("GET /a")) return HttpResponse{.body = "whole"};
    return HttpResponse{"302 Found", "Location: http://nowhere.invalid/\r\n", ""};
  });
  HttpTransport::Inputs inputs = quick(1);
  inputs.limits.redirects = true;
  const auto transport = new_http_transport(inputs);
  for (int i = 0; i < 3; ++i) {
    const std::string failure =
        error_of([&] { transport->perform({.url = server.url("/moved"), .shown = "read moved"}); });
    EXPECT_NE(failure.find("nowhere.invalid"), std::string::npos) << failure;
  }
  EXPECT_EQ(transport->perform({.url = server.url("/a"), .shown = "read a"}).text, "whole");
}

TEST(HttpTransports, what_a_server_cannot_do_at_all_is_not_asked_for_again) {
  for (const long status : {408, 429, 500, 502, 503, 504, 507, 520}) {
    EXPECT_TRUE(may_pass(status, "")) << status;
  }
  for (const long status : {200, 206, 304, 400, 403, 404, 416, 501, 505}) {
    EXPECT_FALSE(may_pass(status, "")) << status;
  }
  EXPECT_TRUE(may_pass(400, "<Error><Code>BadDigest</Code></Error>"));
}

TEST(HttpTransports, a_busy_server_is_a_failure_whose_answer_can_be_looked_at) {
  HttpServer server([](const std::string&) {
    return HttpResponse{"503 Busy", "Content-Type: text/plain\r\n", "later"};
  });
  const auto transport = new_http_transport(quick(0));
  const HttpAnswer answer = transport->start({.url = server.url("/a"), .shown = "read a"}).get();
  EXPECT_EQ(answer.failure, "read a: the server answered 503");
  EXPECT_EQ(answer.head.status, 503);
  EXPECT_EQ(answer.head.type, "text/plain");
  EXPECT_EQ(answer.text, "later");
}

TEST(HttpTransports, a_stream_gets_each_attempt_from_its_head_on_and_may_refuse) {
  int count = 0;
  HttpServer server([&](const std::string&) {
    return HttpResponse{.headers = "Last-Modified: today\r\n",
                        .body = "abc",
                        .send = ++count == 1 ? size_t{1} : std::string::npos};
  });
  const auto transport = new_http_transport(quick());
  std::string seen;
  HttpRequest request{.url = server.url("/a"), .shown = "read a"};
  request.stream = [&](const HttpHead& head, Bytes bytes) {
    if (bytes.empty()) seen = head.modified + ": ";
    seen.append(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(transport->perform(request).attempt, 2);
  EXPECT_EQ(seen, "today: abc");
  request.stream = [](const HttpHead&, Bytes) { throw_errno("write", "b", ENOSPC); };
  const HttpAnswer answer = transport->start(request).get();
  EXPECT_EQ(answer.failure, "write b: No space left on device");
  EXPECT_TRUE(answer.by_receiver);
  EXPECT_EQ(answer.errno_value, ENOSPC);
}

}  // namespace
}  // namespace stoker

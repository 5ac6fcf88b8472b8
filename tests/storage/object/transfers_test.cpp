#include "io/storage/object/transfers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "io/core/error.h"
#include "io/storage/object/object_reads.h"
#include "tests/support/errors.h"
#include "tests/support/http_server.h"
#include "tests/support/storages.h"

namespace stoker {
namespace {

Transfers::Settings quick(int64_t retries = 3) {
  Transfers::Settings settings;
  settings.retry = {.retries = retries, .base_ms = 1, .longest_ms = 5};
  return settings;
}

TEST(RetryPolicies, the_waits_double_at_random_and_are_never_shorter_than_the_server_says) {
  const RetryPolicy policy{.retries = 9, .base_ms = 100, .longest_ms = 1000};
  Random random(1);
  int64_t most[8] = {};
  for (int round = 0; round < 2000; ++round) {
    for (int64_t attempts = 1; attempts < 8; ++attempts) {
      most[attempts] = std::max(most[attempts], policy.wait_ms(attempts, random, 0));
    }
  }
  EXPECT_NEAR(most[1], 100, 2);
  EXPECT_NEAR(most[2], 200, 3);
  EXPECT_NEAR(most[4], 800, 8);
  EXPECT_NEAR(most[7], 1000, 10);
  EXPECT_EQ(policy.wait_ms(1, random, 5000), 5000);
}

TEST(TransfersOf, a_busy_server_is_asked_again_and_the_first_retry_is_told) {
  std::atomic<int> asked = 0;
  HttpServer server([&](const std::string&) {
    const int number = ++asked;
    if (number == 1) return HttpResponse{"503 Slow Down", "Retry-After: 0\r\n", "busy"};
    if (number == 2) return HttpResponse{"200 OK", "", "whole", 2};  // cut
    return HttpResponse{"200 OK", "ETag: \"1\"\r\n", "whole"};
  });
  Transfers::Settings settings = quick();
  std::string told;
  settings.retried = [&](const std::string& why) { told += why; };
  Transfers transfers(settings);
  const HttpAnswer answer = transfers.perform({.url = server.url("/a"), .shown = "read a"});
  EXPECT_EQ(answer.text, "whole");
  EXPECT_EQ(answer.attempt, 3);
  EXPECT_EQ(answer.head.etag, "\"1\"");
  EXPECT_EQ(told, "read a: the server answered 503");
}

TEST(TransfersOf, when_no_attempt_is_left_the_error_says_what_to_do) {
  HttpServer server([](const std::string&) { return HttpResponse{"429 Too Many", "", ""}; });
  Transfers transfers(quick(2));
  EXPECT_EQ(error_of([&] { transfers.perform({.url = server.url("/a"), .shown = "read a"}); }),
            "read a: the server answered 429 (after 3 attempts; more by the tier's `retries`)");
  EXPECT_EQ(server.requests().size(), 3);
}

TEST(TransfersOf, a_refusal_is_an_answer_and_not_asked_again) {
  HttpServer server([](const std::string&) { return HttpResponse{"403 Forbidden", "", "no"}; });
  Transfers transfers(quick());
  EXPECT_EQ(transfers.perform({.url = server.url("/a"), .shown = "read a"}).head.status, 403);
  EXPECT_EQ(server.requests().size(), 1);
}

TEST(TransfersOf, a_server_that_does_not_answer_runs_into_the_time_limit) {
  std::atomic<bool> go_on = false;
  HttpServer server([&](const std::string&) {
    go_on.wait(false);
    return HttpResponse{};
  });
  Transfers::Settings settings = quick(0);
  settings.limits.timeout_ms = 50;
  Transfers transfers(settings);
  try {
    transfers.perform({.url = server.url("/a"), .shown = "read a"});
    ADD_FAILURE();
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), ETIMEDOUT);
  }
  go_on = true;
  go_on.notify_all();
}

TEST(TransfersOf, what_is_under_way_ends_with_them) {
  std::atomic<bool> go_on = false;
  HttpServer server([&](const std::string&) {
    go_on.wait(false);
    return HttpResponse{};
  });
  std::vector<std::future<HttpAnswer>> answers;
  {
    Transfers transfers(quick());
    for (int i = 0; i < 40; ++i) {
      answers.push_back(transfers.start({.url = server.url("/a"), .shown = "read a"}));
    }
  }
  for (std::future<HttpAnswer>& answer : answers) {
    EXPECT_EQ(error_of([&] { Transfers::get(std::move(answer)); }),
              "read a: given up, for the tier's transfers end");
  }
  go_on = true;
  go_on.notify_all();
}

// A file on a server that knows ranges.
class ObjectReadsOf : public testing::Test {
 protected:
  HttpResponse answer(const std::string& request) {
    HttpResponse response{.headers = "ETag: " + etag_ + "\r\n"};
    const std::string range = header(request, "Range");
    const std::string match = header(request, "If-Match");
    if (!match.empty() && match != etag_) return {.status = "412 Precondition Failed"};
    if (range.empty() || ignores_ranges_) {
      response.body = request.starts_with("HEAD") ? "" : text_;
      return response;
    }
    const size_t first = std::stoull(range.substr(6));
    const size_t last =
        std::min<size_t>(std::stoull(range.substr(range.find('-') + 1)), text_.size() - 1);
    const std::string total = std::to_string(text_.size());
    if (first >= text_.size()) {
      return {.status = "416 No", .headers = "Content-Range: bytes */" + total + "\r\n"};
    }
    response.status = "206 Partial Content";
    response.headers += "Content-Range: bytes " + std::to_string(first) + "-" +
                        std::to_string(last) + "/" + total + "\r\n";
    response.body = text_.substr(first, last - first + 1);
    return response;
  }
  std::string get(Range range = {}) {
    Buffer out;
    reads_.read("a", out, range);
    return {out.bytes().begin(), out.bytes().end()};
  }
  size_t requests() const { return server_.requests().size(); }

  std::string text_ = "0123456789";
  std::string etag_ = "\"1\"";
  bool ignores_ranges_ = false;
  HttpServer server_{[this](const std::string& request) { return answer(request); }};
  Transfers transfers_{quick()};
  ObjectReads reads_{transfers_, {server_.url("/")}, {.part = 4, .ahead = 100}};
};

TEST_F(ObjectReadsOf, an_object_of_unknown_size_is_read_in_parts) {
  EXPECT_EQ(get(), text_);
  EXPECT_EQ(requests(), 3);
  EXPECT_EQ(header(server_.requests()[0], "Range"), "bytes=0-3");
  EXPECT_EQ(header(server_.requests()[1], "If-Match"), "\"1\"");
  EXPECT_EQ(get({7, 9}), "789");
  EXPECT_EQ(get({10, 1}), "");
  EXPECT_EQ(requests(), 4) << "its size is known";
}

TEST_F(ObjectReadsOf, a_changed_object_is_an_error) {
  EXPECT_EQ(get({0, 4}), "0123");
  etag_ = "\"2\"";
  const std::string message = error_of([&] { get({4, 4}); });
  EXPECT_EQ(message,
            "read " + server_.url("/a") +
                ": it changed while it was read (another ETag or size than before); leave the "
                "objects of a run as they are, and start it again");
}

TEST_F(ObjectReadsOf, a_range_behind_the_end_is_empty) {
  EXPECT_EQ(get({20, 5}), "");
  text_ = "";
  { const ObjectReads::Change ours(reads_, "a"); }
  EXPECT_EQ(get(), "");
}

TEST_F(ObjectReadsOf, a_server_without_ranges_serves_whole_objects_only) {
  ignores_ranges_ = true;
  EXPECT_EQ(get(), text_);
  EXPECT_EQ(
      error_of([&] {
        get({2, 3});
      }),
      "read " + server_.url("/a") +
          ": the server answered another range than was asked for; it must know range requests");
}

TEST_F(ObjectReadsOf, what_is_expected_is_read_once_and_before_it_is_asked_for) {
  reads_.known().add_listed(reads_.known().changes(), {{"a", {10, "\"1\""}}});
  const std::vector<ObjectRange> hints{{"a", {0, 4}}, {"a", {4, 4}}, {"a", {}}};
  reads_.expect(hints);
  EXPECT_EQ(get({4, 4}), "4567");
  EXPECT_EQ(get({0, 4}), "0123");
  EXPECT_EQ(get(), text_);
  EXPECT_EQ(requests(), 5);
}

TEST_F(ObjectReadsOf, an_expected_read_that_failed_is_made_again) {
  reads_.known().add_listed(reads_.known().changes(), {{"a", {10, "\"1\""}}});
  etag_ = "\"2\"";
  const std::vector<ObjectRange> hints{{"a", {0, 4}}};
  reads_.expect(hints);
  EXPECT_NE(error_of([&] { get({0, 4}); }).find("it changed"), std::string::npos);
  reads_.expect(hints);
  { const ObjectReads::Change ours(reads_, "a"); }
  EXPECT_EQ(get({0, 4}), "0123") << "we changed it ourselves";
}

}  // namespace
}  // namespace stoker

#include "io/storage/object/object_reads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "io/core/error.h"
#include "io/http/transport.h"
#include "tests/support/errors.h"
#include "tests/support/http_server.h"
#include "tests/support/storages.h"

namespace stoker {
namespace {

HttpTransport::Inputs quick() {
  HttpTransport::Inputs inputs;
  inputs.retry = {.retries = 3, .base_ms = 1, .longest_ms = 5};
  return inputs;
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
  const std::unique_ptr<HttpTransport> transport_ = new_http_transport(quick());
  ObjectReads reads_{*transport_, {server_.url("/")}, {.part = 4, .ahead = 100}};
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
  EXPECT_EQ(error_of([&] {
              get({2, 3});
            }),
            "read " + server_.url("/a") +
                ": the server sent more than was asked for; it must know range requests");
}

TEST_F(ObjectReadsOf, what_a_listing_said_is_held_against_the_server) {
  const auto listed = [&](uint64_t bytes) {
    reads_.known().add_listed(reads_.known().changes(), {{"a", {bytes, "", true}}});
  };
  const std::string begin = "read " + server_.url("/a") + ": the listing says ";
  const std::string end =
      " bytes, and the server has 10: it changed since it was listed; start again";
  listed(14);
  EXPECT_EQ(error_of([&] { get(); }), begin + "14" + end);
  EXPECT_EQ(error_of([&] { get({11, 2}); }), begin + "14" + end) << "behind its end";
  listed(7);
  EXPECT_EQ(error_of([&] { get({0, 3}); }), begin + "7" + end);
  listed(10);
  EXPECT_EQ(get(), text_);
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

#include "io/storage/object/object_errors.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "io/core/error.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

constexpr const char* kShown = "read http://h/a.jpg";
const ObjectPlace kWeb{"http://h/"};
const ObjectPlace kIndexed{"http://h/", false, "index.txt"};
const ObjectPlace kBucket{"http://h/b/", true};

// What is said of the answer to a request for all 10 bytes of an object.
std::string said(const HttpHead& head, const ObjectVersion& version = {10, "", true},
                 const ObjectPlace& place = kIndexed) {
  const std::string message =
      error_of([&] { check_part(kShown, head, version, 0, version.bytes, place); });
  return message.substr(message.find(": ") + 2);
}

std::string refused(long status, const std::string& code, const ObjectPlace& place,
                    const std::string& more = "") {
  HttpAnswer answer;
  answer.head.status = status;
  if (!code.empty()) {
    answer.text = "<Error><Code>" + code + "</Code><Message>m</Message>" + more + "</Error>";
  }
  const std::string message = error_of([&] { throw_answer(kShown, answer, place); });
  return message.substr(message.find("the server"));
}

TEST(ObjectErrors, of_another_size_say_why) {
  EXPECT_EQ(said({.status = 200, .length = 14}),
            "the index 'index.txt' says 10 bytes, and the server has 14: make the index anew");
  EXPECT_EQ(said({.status = 206, .range = ContentRange{0, 10, 14}}),
            "the index 'index.txt' says 10 bytes, and the server has 14: make the index anew");
  EXPECT_EQ(said({.status = 200, .length = 14}, {10, "", true}, kWeb),
            "the listing says 10 bytes, and the server has 14: it changed since it was listed; "
            "start again");
  EXPECT_EQ(said({.status = 200, .type = "text/html; charset=utf-8", .length = 22}),
            "the server answered 200 with a page (text/html; charset=utf-8) instead of the file: "
            "look at the URL in a browser; it may want a login, or say that there is no such file");
  EXPECT_EQ(said({.status = 200, .type = "application/json", .length = 17}).substr(0, 51),
            "the server answered 200 with a page (application/js");
  EXPECT_NO_THROW(check_part(kShown, {.status = 200, .type = "application/json", .length = 10},
                             {10}, 0, 10, kIndexed))
      << "a file of that type";
  for (const char* encoding : {"gzip", "br", "deflate"}) {
    const std::string message =
        "the server sent it encoded (Content-Encoding: " + std::string(encoding) +
        "), though the request says Accept-Encoding: identity: switch that "
        "off for these files";
    EXPECT_EQ(said({.status = 200, .encoding = encoding, .length = 7}), message);
    EXPECT_EQ(said({.status = 200, .encoding = encoding}), message) << "in chunks";
  }
  const std::string changed =
      "it changed while it was read (another ETag or size than before); leave the objects of a run "
      "as they are, and start it again";
  EXPECT_EQ(said({.status = 200, .etag = "\"2\"", .length = 10}, {10, "\"1\""}), changed);
  EXPECT_EQ(said({.status = 200, .length = 14}, {10, "\"1\""}), changed);
}

TEST(ObjectErrors, of_ranges_say_what_the_server_sent) {
  EXPECT_EQ(said({.status = 206}),
            "the server does not say which bytes of how many it sent (Content-Range)");
  EXPECT_EQ(said({.status = 206, .range = ContentRange{2, 8, 10}}),
            "the server sent another range than was asked for; it must know range requests");
  EXPECT_EQ(error_of([] { check_part(kShown, {.status = 200, .length = 10}, {10}, 4, 6, kWeb); }),
            std::string(kShown) +
                ": the server sent more than was asked for; it must know range requests");
  EXPECT_NO_THROW(check_part(kShown, {.status = 200}, {10}, 0, 10, kWeb)) << "in chunks";
  EXPECT_NO_THROW(
      check_part(kShown, {.status = 200, .encoding = "gzip", .length = 10}, {10}, 0, 10, kBucket))
      << "a name for what the object is, and the bytes are those listed";
}

TEST(ObjectErrors, of_a_first_answer_without_a_size) {
  const auto size = [](const HttpHead& head, const std::string& shown = kShown) {
    return error_of([&] { size_said(shown, head, kWeb, true); });
  };
  EXPECT_EQ(size({.status = 200}),
            std::string(kShown) +
                ": the server does not say how long it is (Content-Length): name its size in an "
                "index, or let the server send it as a plain file");
  EXPECT_NE(size({.status = 200, .type = "text/html", .length = 5}).find("with a page"),
            std::string::npos);
  EXPECT_NE(size({.status = 200, .encoding = "gzip", .length = 5}).find("encoded"),
            std::string::npos);
  const HttpHead archive{.status = 200, .encoding = "x-gzip", .length = 5};
  EXPECT_EQ(size_said("read http://h/a.tar.gz", archive, kWeb, true), 5u);
  const HttpHead page{.status = 200, .type = "text/html", .length = 5};
  EXPECT_EQ(size_said("read http://h/a.html", page, kWeb, true), 5u);
  EXPECT_EQ(size_said(kShown, page, kWeb, false), 5u) << "a HEAD: the bytes will tell";
}

TEST(ObjectErrors, of_a_web_server_speak_of_no_bucket) {
  EXPECT_EQ(refused(401, "", kWeb),
            "the server answered 401; it wants a login, and the tier http has none: let the server "
            "give it without one, or use a tier of type s3");
  EXPECT_EQ(refused(403, "", kWeb),
            "the server answered 403; check the URL, and who may read it on the server");
  EXPECT_EQ(refused(302, "", kWeb), "the server answered 302; check the URL");
  EXPECT_EQ(refused(407, "", kWeb), "the server answered 407; the proxy wants a login");
  EXPECT_EQ(refused(418, "", kWeb), "the server answered 418");
  EXPECT_EQ(refused(403, "AccessDenied", kWeb),
            "the server answered 403 (AccessDenied: m); check the URL, and who may read it on the "
            "server");
}

TEST(ObjectErrors, of_s3_have_the_remedy_of_their_code) {
  const auto remedy = [](long status, const std::string& code, const std::string& more = "") {
    const std::string message = refused(status, code, kBucket, more);
    const std::string begin =
        "the server answered " + std::to_string(status) + " (" + code + ": m); ";
    EXPECT_EQ(message.substr(0, begin.size()), begin);
    return message.substr(begin.size());
  };
  EXPECT_EQ(remedy(403, "InvalidObjectState"), "it is archived: restore it first");
  EXPECT_EQ(remedy(403, "RequestTimeTooSkewed"), "set this machine's clock");
  EXPECT_EQ(remedy(403, "SignatureDoesNotMatch"), "check the secret key and `region`");
  EXPECT_EQ(remedy(403, "InvalidAccessKeyId"), "check the key's id");
  EXPECT_EQ(remedy(400, "ExpiredToken"),
            "get new credentials and start again; they are read when a tier is opened");
  EXPECT_EQ(remedy(400, "KMS.DisabledException"),
            "check the key of KMS that it is encrypted with, and the rights to that key");
  EXPECT_EQ(remedy(400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"),
            "check `region`: its region is eu-west-1");
  EXPECT_EQ(remedy(301, "PermanentRedirect", "<Endpoint>b.s3.eu-west-1.amazonaws.com</Endpoint>"),
            "check `region` and `endpoint`: its endpoint is b.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(refused(403, "", kBucket),
            "the server answered 403; check the credentials, their rights, `region` and this "
            "machine's clock");
  EXPECT_EQ(refused(400, "InvalidRequest", kBucket), "the server answered 400 (InvalidRequest: m)");
}

TEST(ObjectErrors, have_the_exit_code_of_their_cause) {
  const auto code = [](long status, const std::string& text = "") {
    return code_of(
        [&] { throw_answer(kShown, {.head = {.status = status}, .text = text}, kBucket); });
  };
  EXPECT_EQ(code(404), ExitCode::environment);
  EXPECT_EQ(code(403), ExitCode::environment);
  EXPECT_EQ(code(400, "<Error><Code>ExpiredToken</Code></Error>"), ExitCode::environment);
  EXPECT_EQ(code(418), ExitCode::storage);
}

}  // namespace
}  // namespace stoker

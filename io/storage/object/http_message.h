#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// What a range request was answered with: "bytes 0-3/10" or, where there is nothing, "bytes */10".
// A value.
struct ContentRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t total = 0;  // of the whole object
  bool operator==(const ContentRange&) const = default;
};
// Nothing for any other text, and where the total is not said. Any thread.
std::optional<ContentRange> parse_content_range(std::string_view text);

// Of all that is neither a letter, a digit nor one of "-_.~", the bytes as %XX: what AWS signs, and
// what no server and no library changes. keep: further characters that stay ("/" of paths). Any
// thread.
std::string percent_encoded(std::string_view bytes, std::string_view keep = {});

// Empty where `url` can be the place of a tier: "http://host:port/path" or https, without user,
// query or fragment; else what it must be. What is said never repeats the URL: somebody may have
// put a password into it. Any thread.
std::string wrong_with_url(std::string_view url);
// Of a URL that is right: "host", or "host:port" where the port is not the scheme's own.
std::string host_of(std::string_view url);
// Of a URL that is right: the path before any "?", "/" where there is none; and what is behind it.
std::string path_of_url(std::string_view url);
std::string query_of_url(std::string_view url);

// The beginning of an answer. A value.
struct HttpHead {
  long status = 0;
  std::string etag;                // as it stands there, with its quotes; empty: none
  std::optional<uint64_t> length;  // of the body, where it is said
  std::optional<ContentRange> range;
};

// An answer that is complete, or why there is none: as data, for whoever throws an exception has to
// be the thread that it is for. A value.
struct HttpAnswer {
  std::string failure = {};  // for IoError; empty: it is an answer
  int errno_value = 0;
  HttpHead head = {};
  // The body, unless it went to HttpRequest::place.
  std::string text = {};
  int attempt = 1;
};

// One request, which may be made several times. A value; what it refers to must live until it is
// answered.
struct HttpRequest {
  std::string method = "GET";
  // Percent-encoded.
  std::string url;
  // For messages: "read http://host/a b". Nothing that is secret.
  std::string shown;
  // "Range: bytes=0-3".
  std::vector<std::string> headers = {};
  // Of a PUT or POST.
  std::shared_ptr<const std::string> body = {};
  std::string body_sha256 = {};  // where it is needed: in hex
  // Where the body of a 200 or 206 goes, once its head is here; it must have just that size. By the
  // transfers' thread, for each attempt anew. An IoError of it ends the request.
  std::function<std::span<uint8_t>(const HttpHead&)> place = {};
  // Of an answer that may take long: how many times the tier's time limit.
  int64_t patience = 1;
  // Kept until the answer is there: what `place` writes to.
  std::shared_ptr<void> keep = {};
};

}  // namespace stoker

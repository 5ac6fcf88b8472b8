#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/system/memory.h"
#include "io/core/threads.h"

namespace stoker {

// What a range request was answered with: "bytes 0-3/10" or, where there is nothing, "bytes */10".
// A value.
struct ContentRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t total = 0;  // the whole object's size
  bool operator==(const ContentRange&) const = default;
};
// Returns nothing for any other text, and where the total is not said. Any thread.
std::optional<ContentRange> parse_content_range(std::string_view text);

// Writes every byte that is neither a letter, a digit nor one of "-_.~" as %XX: this is what AWS
// signs, and what no server and no library changes. `keep` has further characters that stay, such
// as the "/" of paths. Any thread.
std::string percent_encoded(std::string_view bytes, std::string_view keep = {});

// The values of a name in a query, "run=a&run=b%2Fc", in their order and decoded. What is no
// escape stays as it is. Any thread.
std::vector<std::string> query_values(std::string_view query, std::string_view name);

// Returns nothing where `url` can be the place of a tier ("http://host:port/path" or https, without
// user, query or fragment), else what it must be. The text never repeats the URL: somebody may have
// put a password into it. Any thread.
std::string wrong_with_url(std::string_view url);

// The parts of a URL that is right. Any thread.
std::string host_of(std::string_view url);  // "host"; with ":port" unless it is the scheme's own
std::string path_of_url(std::string_view url);   // "/" where there is none
std::string query_of_url(std::string_view url);  // what stands behind the "?"
// The URL's host is an address of this machine or "localhost": no proxy belongs in between.
bool is_this_machine(std::string_view url);

// The beginning of an answer. A value.
struct HttpHead {
  long status = 0;
  std::string type = {};                // "text/plain; charset=utf-8"
  std::string encoding = {};            // "gzip"; empty: the body is the thing itself
  std::string etag = {};                // as it stands there, with its quotes; empty: none
  std::string modified = {};            // the date in Last-Modified, as it stands there
  std::optional<uint64_t> length = {};  // the body's length, where the server says it
  std::optional<ContentRange> range = {};
};

// An answer, or why there is none. It is data, for an exception has to be thrown by the thread that
// it is for (HttpTransport::get). A value.
struct HttpAnswer {
  // Names the request, the cause and what can be done. Empty: this is an answer.
  std::string failure = {};
  std::string cause = {};  // the failure's cause alone: "Timeout was reached"
  int errno_value = 0;     // for IoError
  // The failure is one of HttpRequest::place or stream: `failure` has its own text and nothing
  // else.
  bool by_receiver = false;
  // A server that is still busy at the last attempt is a failure, and its answer stands here, too.
  // Status 0: no complete answer came.
  HttpHead head = {};
  // The body, unless it went to `place` or `stream`.
  std::string text = {};
  int attempt = 1;
};

// One request, which may be made several times. A value; what it refers to must live until it is
// answered.
struct HttpRequest {
  std::string method = "GET";
  // Percent-encoded.
  std::string url;
  // For messages: "read http://host/a b". It holds nothing that is secret.
  std::string shown;
  // "Range: bytes=0-3".
  std::vector<std::string> headers = {};
  // What a PUT or POST sends.
  std::shared_ptr<const std::string> body = {};
  std::string body_sha256 = {};  // in hex, where it is needed
  // Where the body of a 200 or 206 goes; it must have just that size. Called once for each attempt,
  // when the head is here, by the transport's thread. An IoError of it ends the request.
  std::function<std::span<uint8_t>(const HttpHead&)> place = {};
  // Takes the body of a 200 or 206 as it comes, where its size is not known or no memory holds it:
  // first no bytes, when the head is here, then every piece. Otherwise as `place`.
  std::function<void(const HttpHead&, Bytes)> stream = {};
  // An answer that may take long gets this many times the transport's time limit.
  int64_t patience = 1;
  // Nobody waits for it yet: it is made after all requests that somebody waits for.
  bool ahead = false;
  // Kept until the answer is there: what `place` writes to.
  std::shared_ptr<void> keep = {};
  // The request is given up when this is asked to stop, whatever it waits for: its answer is then a
  // failure (ECANCELED).
  std::stop_token stop = interruption();
};

}  // namespace stoker

#include <fmt/format.h>

#include "io/http/message.h"
#include "io/storage/object/aws_signature.h"
#include "tests/fuzz/target.h"

// Lines: a Content-Range, a URL, the rest a key and a file of credentials.
STOKER_FUZZ_TARGET(http_message) {
  using namespace stoker;
  const std::vector<std::string_view> parts = fuzz::lines(input, 3);
  if (const auto range = parse_content_range(parts[0])) {
    fuzz::require(range->offset <= range->total && range->length <= range->total - range->offset,
                  "a range outside of its object");
    const auto again =
        range->length == 0
            ? parse_content_range(fmt::format("bytes */{}", range->total))
            : parse_content_range(fmt::format("bytes {}-{}/{}", range->offset,
                                              range->offset + range->length - 1, range->total));
    fuzz::require(again == range, "written and read as another range");
  }
  if (wrong_with_url(parts[1]).empty()) {
    fuzz::require(!host_of(parts[1]).empty() && path_of_url(parts[1]).starts_with('/') &&
                      query_of_url(parts[1]).empty(),
                  "a URL without a host or path");
  }
  for (const char c : percent_encoded(parts[2], "/")) {
    fuzz::require(c > ' ' && c < '\x7f' && c != '?' && c != '#', "a key that is no path");
  }
  if (const auto credentials = parse_aws_credentials(parts[2], "default")) {
    for (const std::string& text :
         {credentials->key_id, credentials->secret, credentials->session_token}) {
      fuzz::require(text.find_first_of("\r\n \t") == text.npos, "a credential breaks a header");
    }
  }
}

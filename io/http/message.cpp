#include "io/http/message.h"

#include "io/core/config/config.h"
#include "io/http/address.h"

namespace stoker {
namespace {

constexpr std::string_view kUnreserved =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";

// "https://" where the URL begins with it; empty: it has no scheme that we know.
std::string_view scheme_of(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (url.starts_with(scheme)) return scheme;
  }
  return {};
}

std::string_view authority_of(std::string_view url) {
  url.remove_prefix(scheme_of(url).size());
  return url.substr(0, url.find_first_of("/?#"));
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  const size_t slash = text.find('/');
  if (!text.starts_with(kUnit) || slash == text.npos) return std::nullopt;
  const std::string_view range = text.substr(kUnit.size(), slash - kUnit.size());
  ContentRange result;
  if (!parse_number(text.substr(slash + 1), result.total)) return std::nullopt;
  if (range == "*") return result;
  const size_t dash = range.find('-');
  uint64_t last = 0;
  if (dash == range.npos || !parse_number(range.substr(0, dash), result.offset) ||
      !parse_number(range.substr(dash + 1), last) || last < result.offset || last >= result.total) {
    return std::nullopt;
  }
  result.length = last - result.offset + 1;
  return result;
}

std::string percent_encoded(std::string_view bytes, std::string_view keep) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size() + 16);
  for (const char c : bytes) {
    if (kUnreserved.find(c) != kUnreserved.npos || keep.find(c) != keep.npos) {
      text += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

std::string wrong_with_url(std::string_view url) {
  const std::string_view authority = authority_of(url);
  if (scheme_of(url).empty() || authority.empty() || authority.starts_with(':')) {
    return "must be a URL such as https://host:port/path";
  }
  if (authority.find('@') != url.npos) {
    return "must be a URL without a user or password: they would be kept with the results";
  }
  if (url.find_first_of("?#") != url.npos) {
    return "must be a URL without '?' and '#': keys are added behind it";
  }
  for (const char c : url) {
    if (c <= ' ' || c == '\x7f' || c == '"' || c == '\\' || c == '<' || c == '>') {
      return "must be a percent-encoded URL, without spaces";
    }
  }
  return {};
}

std::string host_of(std::string_view url) {
  std::string_view authority = authority_of(url);
  const std::string_view own = scheme_of(url) == "https://" ? ":443" : ":80";
  if (authority.ends_with(own)) authority.remove_suffix(own.size());
  return std::string(authority);
}

std::string path_of_url(std::string_view url) {
  url.remove_prefix(scheme_of(url).size());
  url = url.substr(0, url.find('?'));
  const size_t slash = url.find('/');
  return slash == url.npos ? "/" : std::string(url.substr(slash));
}

std::string query_of_url(std::string_view url) {
  const size_t mark = url.find('?');
  return mark == url.npos ? "" : std::string(url.substr(mark + 1));
}

bool is_this_machine(std::string_view url) {
  const std::string host(authority_of(url));
  HttpAddress address;
  const bool numeric = Scalar<HttpAddress>::parse(host, address) ||
                       Scalar<HttpAddress>::parse(host + ":80", address);
  return numeric && address.loopback();
}

}  // namespace stoker

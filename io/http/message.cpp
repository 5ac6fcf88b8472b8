#include "io/http/message.h"

#include <algorithm>
#include <charconv>

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

std::string percent_decoded(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    if (escape) i += 2;
    bytes += escape ? static_cast<char>(value) : text[i] == '+' ? ' ' : text[i];
  }
  return bytes;
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

std::vector<std::string> query_values(std::string_view query, std::string_view name) {
  std::vector<std::string> values;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) != name) continue;
    values.push_back(percent_decoded(pair.substr(std::min(pair.size(), equals + 1))));
  }
  return values;
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

#include "io/http/exchange.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

#include "io/core/text/text.h"

namespace stoker {
namespace {

// The status page is one file that asks this server and nobody else.
constexpr const char* kPagePolicy =
    "Content-Security-Policy: default-src 'none'; script-src 'self' 'unsafe-inline'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n";

struct RequestLine {
  std::string_view method;
  std::string_view path;
  std::string_view query;
};

// Takes what stands before `end`, and `end` as well, out of the text; all of it where there is no
// `end`.
std::string_view cut(std::string_view& text, char end) {
  const std::string_view front = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), front.size() + 1));
  return front;
}

std::string_view cut_line(std::string_view& text) {
  std::string_view line = cut(text, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<RequestLine> read_request_line(std::string_view line) {
  RequestLine request;
  request.method = cut(line, ' ');
  std::string_view target = cut(line, ' ');
  request.path = cut(target, '?');
  request.query = target;
  const bool word = !request.method.empty() &&
                    std::all_of(request.method.begin(), request.method.end(),
                                [](char letter) { return letter >= 'A' && letter <= 'Z'; });
  if (!word || request.path.empty() || (line != "HTTP/1.1" && line != "HTTP/1.0")) {
    return std::nullopt;
  }
  return request;
}

// The headers that matter here.
struct Headers {
  bool body = false;  // the client announces a body
  std::vector<std::string_view> hosts;
  std::vector<std::string_view> origins;  // servers whose pages made a browser ask
  std::string_view has;                   // the version that the client has
};

Headers read_headers(std::string_view text) {
  Headers headers;
  while (!text.empty()) {
    std::string_view value = cut_line(text);
    const std::string_view name = cut(value, ':');
    value.remove_prefix(std::min(value.size(), value.find_first_not_of(" \t")));
    while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
    if (same_name(name, "Host")) headers.hosts.push_back(value);
    if (same_name(name, "Origin")) headers.origins.push_back(value);
    if (same_name(name, "If-None-Match")) headers.has = value;
    headers.body = headers.body || same_name(name, "Transfer-Encoding") ||
                   same_name(name, "Expect") || (same_name(name, "Content-Length") && value != "0");
  }
  return headers;
}

HttpReply plain(int status, const std::string& text) {
  return {status, "text/plain; charset=utf-8", text + "\n"};
}

HttpReply reply_of(const HttpRoute& route, std::string_view query) {
  try {
    return route.reply(query);
  } catch (const std::exception& error) {
    return plain(500, error.what());
  } catch (...) {
    return plain(500, "unknown exception");
  }
}

// True where no page asks but this server's own: any page may make a browser send a POST to
// anybody.
bool is_own(const Headers& headers) {
  return std::ranges::all_of(headers.origins, [&](std::string_view origin) {
    return std::ranges::any_of(headers.hosts, [&](std::string_view host) {
      return same_name(origin, "http://" + std::string(host));
    });
  });
}

HttpReply reply_to(const std::optional<RequestLine>& request, const Headers& headers,
                   const HttpSite& site) {
  if (!request) return plain(400, "this is no HTTP/1 request");
  const auto route = site.routes.find(request->path);
  const bool found = route != site.routes.end();
  const bool post = found && route->second.method == HttpRoute::Method::post;
  if (post != (request->method == "POST") ||
      (!post && request->method != "GET" && request->method != "HEAD")) {
    return plain(405, post ? "only POST" : "only GET and HEAD");
  }
  if (headers.body) return plain(413, "this server takes no bodies");
  for (const std::string_view host : headers.hosts) {
    if (site.hosts.include(host)) continue;
    return plain(421, fmt::format("this server is not known as {}: name it in `hosts` of the sink",
                                  to_text(host)));
  }
  if (!found) return plain(404, "not found");
  if (post && !is_own(headers))
    return plain(403, "a page of another server's may not ask for this");
  HttpReply reply = reply_of(route->second, request->query);
  if (!reply.tag.empty()) reply.tag = '"' + reply.tag + '"';
  if (!reply.tag.empty() && headers.has == reply.tag) return {304, reply.type, "", reply.tag};
  return reply;
}

const char* reason(int status) {
  static const std::map<int, const char*> kReasons{{200, "OK"},
                                                   {304, "Not Modified"},
                                                   {400, "Bad Request"},
                                                   {403, "Forbidden"},
                                                   {404, "Not Found"},
                                                   {405, "Method Not Allowed"},
                                                   {413, "Content Too Large"},
                                                   {421, "Misdirected Request"},
                                                   {503, "Service Unavailable"}};
  const auto found = kReasons.find(status);
  return found != kReasons.end() ? found->second : "Internal Server Error";
}

}  // namespace

std::string http_answer(std::string_view request, const HttpSite& site) {
  std::string_view headers = request;
  const bool whole = request.ends_with("\r\n\r\n");
  const auto line = whole ? read_request_line(cut_line(headers)) : std::nullopt;
  const HttpReply reply = reply_to(line, read_headers(headers), site);
  std::string answer = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Length: {}\r\nContent-Type: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n{}{}{}\r\n",
      reply.status, reason(reply.status), reply.body.size(), reply.type,
      reply.status != 405                   ? ""
      : reply.body.starts_with("only POST") ? "Allow: POST\r\n"
                                            : "Allow: GET, HEAD\r\n",
      reply.type.starts_with("text/html") ? kPagePolicy : "",
      reply.tag.empty() ? "" : "ETag: " + reply.tag + "\r\n");
  if (!line || line->method != "HEAD") answer += reply.body;
  return answer;
}

}  // namespace stoker

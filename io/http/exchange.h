#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "io/http/hosts.h"

namespace stoker {

// A reply, of a server or to a client. A value.
struct HttpReply {
  int status = 200;
  std::string type;  // "text/plain; charset=utf-8"
  std::string body;
};

// What a path answers, to GET and HEAD; or to POST, where it does something. An exception of the
// handler becomes the reply.
struct HttpRoute {
  enum class Method { get, post };
  template <class F>
  HttpRoute(F handler, Method method = Method::get)  // NOLINT: a handler is a route
      : reply(std::move(handler)), method(method) {}
  std::function<HttpReply()> reply;
  Method method;
};

// By path: "/metrics"; a query after it is ignored.
using HttpRoutes = std::map<std::string, HttpRoute, std::less<>>;

// What a server answers, and under which names. A value.
struct HttpSite {
  HttpRoutes routes;
  HttpHosts hosts;
};

// The bytes that answer one request: its first line, its headers and the empty line after them. GET
// and HEAD, or POST, of the routes; 404 and 405 for others, 413 for a request with a body, 421 for
// one to another host (none at all is fine: a browser always names one), 403 for a POST from a page
// of another server's, 500 with its text where a handler throws, 400 for a part of a request and
// for what is no HTTP/1. One request per connection: every reply says so. Never throws for what
// `request` holds. Any thread, as far as the handlers allow it.
std::string http_answer(std::string_view request, const HttpSite& site);

}  // namespace stoker

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "io/sinks/http_hosts.h"

namespace stoker {

// A reply, of a server or to a client. A value.
struct HttpReply {
  int status = 200;
  std::string type;  // "text/plain; charset=utf-8"
  std::string body;
};

// What a server answers, by path: "/metrics"; a query after it is ignored. An exception of a
// handler becomes the reply.
using HttpRoutes = std::map<std::string, std::function<HttpReply()>, std::less<>>;

// What a server answers, and under which names. A value.
struct HttpSite {
  HttpRoutes routes;
  HttpHosts hosts;
};

// The bytes that answer one request: its first line, its headers and the empty line after them. GET
// and HEAD of the routes; 404 and 405 for others, 413 for a request with a body, 421 for one to
// another host (none at all is fine: a browser always names one), 500 with its text where a handler
// throws, 400 for a part of a request and for what is no HTTP/1. One request per
// connection: every reply says so. Never throws for what `request` holds. Any thread, as far as the
// handlers allow it.
std::string http_answer(std::string_view request, const HttpSite& site);

}  // namespace stoker

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "io/http/address.h"

namespace stoker {

// A reply, of a server or to a client. A value.
struct HttpReply {
  int status = 200;
  std::string type;  // "text/plain; charset=utf-8"
  std::string body;
  // Names this version of the body: who asks for it again and has it gets 304 and no body. Empty:
  // it has no name.
  std::string tag = {};
};

// What a path answers to GET and HEAD, or to POST where it does something. A handler may take the
// query, which is what stands behind the "?". An exception of it becomes the reply.
struct HttpRoute {
  enum class Method { get, post };
  using Handler = std::function<HttpReply(std::string_view query)>;
  template <class F>
  HttpRoute(F handler, Method method = Method::get)  // NOLINT: a handler is a route
      : method(method) {
    if constexpr (std::is_invocable_v<F&, std::string_view>) {
      reply = std::move(handler);
    } else {
      reply = [handler = std::move(handler)](std::string_view) { return handler(); };
    }
  }
  Handler reply;
  Method method;
};

// By path: "/metrics".
using HttpRoutes = std::map<std::string, HttpRoute, std::less<>>;

// What a server answers, and under which names. A value.
struct HttpSite {
  HttpRoutes routes;
  HttpHosts hosts;
};

// Returns the bytes that answer one request, which is its first line, its headers and the empty
// line after them. It answers GET and HEAD, or POST, as the routes say; else
//
//   304  the client has this version  (If-None-Match)
//   400  a part of a request, or something that is not HTTP/1
//   403  a POST from a page of another server
//   404  no such path                     405  another method
//   413  a request with a body
//   421  another host is named; a request without Host is fine, for a browser always names one
//   500  the handler threw; the body is its text
//
// Every reply says that the connection ends with it. Never throws for what `request` holds. Any
// thread, as far as the handlers allow it.
std::string http_answer(std::string_view request, const HttpSite& site);

}  // namespace stoker

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stoker {

struct HttpReply {
  int status = 200;
  std::string type;  // "text/plain; charset=utf-8"
  std::string body;
};

struct HttpRoute {
  std::string path;  // "/metrics"; a query after it is ignored
  std::function<HttpReply()> handler;
};

// Answers requests that are already in memory: no socket, no thread. GET and HEAD of the routes;
// 404 and 405 for others, 413 for a request with a body, 500 with its text where a handler throws,
// 400 for what is no HTTP. One request per connection: every reply says so. One thread at a time.
class HttpExchange {
 public:
  explicit HttpExchange(std::vector<HttpRoute> routes);
  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // The bytes of the reply to one request line with its headers, or to a part of them. Never throws
  // for what `request` holds.
  std::string answer(const std::string& request);

 private:
  class Responder;
  std::unique_ptr<Responder> responder_;
};

}  // namespace stoker

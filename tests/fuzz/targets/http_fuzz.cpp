#include <fmt/format.h>

#include "io/http/exchange.h"
#include "tests/fuzz/target.h"

// Every request gets a whole reply.
STOKER_FUZZ_TARGET(http) {
  using namespace stoker;
  static const HttpSite kSite{
      {{"/metrics",
        [] {
          return HttpReply{200, "text/plain", "up 1\n"};
        }},
       {"/",
        [] {
          return HttpReply{200, "text/html", "<html>"};
        }},
       {"/begin",
        {[] {
           return HttpReply{200, "text/plain", "begun\n"};
         },
         HttpRoute::Method::post}},
       {"/broken", []() -> HttpReply { throw std::runtime_error("broken"); }}},
      {{"0.0.0.0", 9464}, {"node3", "node3.example"}}};
  const std::string answer = http_answer(fuzz::text(input), kSite);
  const size_t body = answer.find("\r\n\r\n");
  fuzz::require(answer.starts_with("HTTP/1.1 ") && body != std::string::npos, "no reply");
  const std::string length = fmt::format("Content-Length: {}\r\n", answer.size() - body - 4);
  fuzz::require(answer.find(length) < body || body + 4 == answer.size(), "a wrong length");
}

#pragma once

#include <chrono>
#include <string>

#include "io/http/address.h"
#include "io/http/exchange.h"

namespace stoker {

// One request, one reply of at most 16 MiB, whatever its status; redirects are not followed. A
// proxy that the environment names is not used for this machine's own addresses. Any thread. Where
// there is no complete reply in time: Error(ExitCode::environment), "GET
// http://127.0.0.1:9464/healthz: Couldn't connect to server".
HttpReply http_get(const HttpAddress& address, const std::string& path,
                   std::chrono::milliseconds timeout);

// url: "http://host:port", as a Pushgateway has it. The path is appended to it.
// Numeric addresses of this machine pass any proxy. Error as above, also for another kind of URL.
HttpReply http_put(const std::string& url, const std::string& path, const std::string& content_type,
                   const std::string& body, std::chrono::milliseconds timeout);

}  // namespace stoker

#pragma once

#include <chrono>
#include <string>

#include "io/http/address.h"
#include "io/http/exchange.h"

namespace stoker {

// Makes one request, once, and returns the reply, whatever its status. A reply has at most 16 MiB;
// redirects are not followed. A proxy that the environment names is not used for this machine's own
// addresses. Any thread.
//
// Error(ExitCode::environment), "GET http://127.0.0.1:9464/healthz: Couldn't connect to server",
// where no complete reply comes in time, or where the plug-in stoker_http cannot be loaded.
HttpReply http_get(const HttpAddress& address, const std::string& path,
                   std::chrono::milliseconds timeout);

// The same with a body. `url` is "http://host:port", as a Pushgateway has it; the path is appended
// to it. Another kind of URL is an Error(ExitCode::environment).
HttpReply http_put(const std::string& url, const std::string& path, const std::string& content_type,
                   const std::string& body, std::chrono::milliseconds timeout);

}  // namespace stoker

#include "app/process/healthcheck.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "io/http/address.h"
#include "io/http/transport.h"

namespace stoker {
namespace {

constexpr std::chrono::seconds kTimeout{3};
constexpr int kHealthy = 200;

HttpAddress address_of(const std::string& text) {
  HttpAddress address;
  if (!Scalar<HttpAddress>::parse(text, address)) {
    throw Error(ExitCode::config,
                fmt::format("healthcheck: '{}': expected {}", text, Scalar<HttpAddress>::expected));
  }
  return address;
}

HttpReply ask(const HttpAddress& address) {
  load_http_transport();  // where it is missing, it is not the run that does not answer
  try {
    return http_get(address, "/healthz", kTimeout);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}; is a run with the sink `prometheus` under way, and is this the "
                            "address that it listens on?",
                            error.what()));
  }
}

}  // namespace

ExitCode check_health(const HealthArguments& arguments) {
  const HttpAddress address = address_of(arguments.address);
  const HttpReply reply = ask(address);
  const bool healthy = reply.status == kHealthy;
  const std::string text = reply.body.substr(0, reply.body.find_last_not_of("\r\n") + 1);
  if (arguments.json) {
    const nlohmann::json line{{"address", Scalar<HttpAddress>::format(address)},
                              {"healthy", healthy},
                              {"status", reply.status},
                              {"text", text}};
    fmt::print("{}\n", json_text(line, 2));
  } else if (healthy) {
    fmt::print("{}\n", text);
  } else {
    fmt::print("not healthy (status {}): {}\n", reply.status, text);
  }
  return healthy ? ExitCode::ok : ExitCode::threshold;
}

}  // namespace stoker

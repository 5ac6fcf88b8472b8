#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/commands/commands.h"
#include "io/sinks/http_address.h"
#include "io/sinks/http_client.h"

namespace stoker {
namespace {

constexpr std::chrono::seconds kTimeout{3};
constexpr int kHealthy = 200;

struct Arguments {
  std::string address = "127.0.0.1:9464";
  bool json = false;
};

HttpAddress address_of(const std::string& text) {
  HttpAddress address;
  if (!Scalar<HttpAddress>::parse(text, address)) {
    throw Error(ExitCode::config,
                fmt::format("healthcheck: '{}': expected {}", text, Scalar<HttpAddress>::expected));
  }
  return address;
}

HttpReply ask(const HttpAddress& address) {
  try {
    return http_get(address, "/healthz", kTimeout);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}; is a run with the sink `prometheus` under way, and is this the "
                            "address that it listens on?",
                            error.what()));
  }
}

ExitCode check(const Arguments& arguments) {
  const HttpAddress address = address_of(arguments.address);
  const HttpReply reply = ask(address);
  const bool healthy = reply.status == kHealthy;
  const std::string text = reply.body.substr(0, reply.body.find_last_not_of("\r\n") + 1);
  if (arguments.json) {
    const nlohmann::json json{{"address", Scalar<HttpAddress>::format(address)},
                              {"healthy", healthy},
                              {"status", reply.status},
                              {"text", text}};
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (healthy) {
    fmt::print("{}\n", text);
  } else {
    fmt::print("not healthy (status {}): {}\n", reply.status, text);
  }
  return healthy ? ExitCode::ok : ExitCode::threshold;
}

}  // namespace

void add_healthcheck(CLI::App& app, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "healthcheck", "Ask a run whether it makes progress: exit code 0 yes, 7 no, 3 no answer");
  command->add_option("ADDRESS", arguments->address, "where the run's sink `prometheus` listens")
      ->envname("STOKER_LISTEN")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments, &result] { result = check(*arguments); });
}

}  // namespace stoker

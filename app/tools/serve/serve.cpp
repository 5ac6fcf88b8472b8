#include "app/tools/serve/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/process/stop_signal.h"
#include "app/tools/report/report_page.h"
#include "app/tools/report/run_files.h"
#include "app/tools/runs/run_list.h"
#include "io/core/text/json.h"
#include "io/http/message.h"
#include "io/http/server.h"

namespace stoker {
namespace {

constexpr uint16_t kPort = 9470;
constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kText = "text/plain; charset=utf-8";

HttpReply report(const std::string& folder, std::string_view query) {
  const std::vector<ListedRun> runs = list_runs(folder);
  std::vector<std::string> directories;
  for (const std::string& name : query_values(query, "run")) {
    const auto found = std::ranges::find(runs, name, &ListedRun::name);
    if (found == runs.end()) return {404, kText, "there is no run " + name + "\n"};
    directories.push_back(found->directory);
  }
  if (directories.empty()) return {400, kText, "name a run: /report?run=NAME\n"};
  return {200, kHtml, using_files_of(directories, [&] { return page_of(directories); })};
}

HttpAddress address_of(const ServeArguments& arguments) {
  HttpAddress address{"127.0.0.1", kPort};
  if (!arguments.listen.empty() && !Scalar<HttpAddress>::parse(arguments.listen, address)) {
    throw Error(ExitCode::config, fmt::format("--listen: must be {}, got '{}'",
                                              Scalar<HttpAddress>::expected, arguments.listen));
  }
  return address;
}

}  // namespace

HttpRoutes run_routes(const std::string& folder) {
  return {{"/",
           [] {
             return HttpReply{200, kHtml, std::string(runs_page())};
           }},
          {"/api/runs",
           [folder] {
             return HttpReply{200, "application/json",
                              json_text(runs_json(folder, list_runs(folder))) + "\n"};
           }},
          {"/report", [folder](std::string_view query) { return report(folder, query); }}};
}

ExitCode serve(const ServeArguments& arguments) {
  list_runs(arguments.folder);  // throws where there is none
  const StopSignal stop;
  const WebServer server(address_of(arguments), arguments.listen.empty(),
                         run_routes(arguments.folder));
  fmt::print("runs of {}: http://{}/ (end it with Ctrl-C)\n", arguments.folder,
             Scalar<HttpAddress>::format(server.address().destination()));
  if (!server.address().loopback()) {
    fmt::print("warning: it can be reached from other machines, without a password\n");
  }
  std::fflush(stdout);
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait(lock, stop.token(), [] { return false; });
  return ExitCode::ok;
}

}  // namespace stoker

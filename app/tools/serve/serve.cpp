#include "app/tools/serve/serve.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "app/process/stop_signal.h"
#include "app/tools/report/report.h"
#include "app/tools/report/run_files.h"
#include "app/tools/runs/run_list.h"
#include "io/core/digest.h"
#include "io/core/text/json.h"
#include "io/core/threads.h"
#include "io/http/message.h"
#include "io/http/server.h"

namespace stoker {
namespace {

constexpr uint16_t kPort = 9470;
constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kText = "text/plain; charset=utf-8";

// A folder of runs as the server sees it. Any thread.
class ServedRuns {
 public:
  explicit ServedRuns(const std::string& folder) : index_(folder) {}

  // The list, made again only where it has changed.
  HttpReply list() {
    const RunIndex::List list = index_.list();
    const std::lock_guard lock(mutex_);
    if (list != listed_) {
      reply_ = {200, "application/json", json_text(runs_json(index_.folder(), *list)) + "\n"};
      reply_.tag = xxh3_128(reply_.body);
      listed_ = list;
    }
    return reply_;
  }

  HttpReply report(std::string_view query) {
    const RunIndex::List runs = index_.list();
    std::unordered_map<std::string_view, const ListedRun*> by_name;
    for (const ListedRun& run : *runs) by_name.emplace(run.name, &run);
    std::vector<std::string> directories;
    for (const std::string& name : query_values(query, "run")) {
      const auto found = by_name.find(name);
      if (found == by_name.end()) return {404, kText, "there is no run " + name + "\n"};
      directories.push_back(found->second->directory);
    }
    if (directories.empty()) return {400, kText, "name a run: /report?run=NAME\n"};
    const InTurn turn(*this);
    return {200, kHtml, using_files_of(directories, [&] { return page_of(directories); })};
  }

 private:
  // A report takes memory: some are made at a time, and further ones wait.
  class InTurn {
   public:
    explicit InTurn(ServedRuns& all) : all_(all) {
      std::unique_lock lock(all_.mutex_);
      wait_interruptibly(all_.ended_, lock, [&] { return all_.reports_ < kAtOnce; });
      ++all_.reports_;
    }
    ~InTurn() {
      const std::lock_guard lock(all_.mutex_);
      --all_.reports_;
      all_.ended_.notify_one();
    }
    InTurn(const InTurn&) = delete;
    InTurn& operator=(const InTurn&) = delete;

   private:
    static constexpr int kAtOnce = 3;
    ServedRuns& all_;
  };

  RunIndex index_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  int reports_ = 0;
  RunIndex::List listed_;
  HttpReply reply_;  // of that list
};

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
  const auto runs = std::make_shared<ServedRuns>(folder);
  return {{"/",
           [] {
             return HttpReply{200, kHtml, std::string(runs_page())};
           }},
          {"/api/runs", [runs] { return runs->list(); }},
          {"/report", [runs](std::string_view query) { return runs->report(query); }}};
}

ExitCode serve(const ServeArguments& arguments) {
  const HttpRoutes routes = run_routes(arguments.folder);
  routes.at("/api/runs").reply("");  // throws where there is no such folder
  const StopSignal stop;
  const WebServer server(address_of(arguments), arguments.listen.empty(), routes, {},
                         Handling::at_once);
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

#pragma once

#include <string>
#include <string_view>

#include "io/core/error.h"
#include "io/http/exchange.h"

namespace stoker {

// The page with the list of runs: a whole HTML document in UTF-8 that asks for api/runs, relative
// to its own address, and for nothing else. It carries its content security policy. Lives as long
// as the program. Any thread.
std::string_view runs_page();

// What the server of a folder of runs answers:
//   /             the page
//   /api/runs     runs_json()
//   /report?run=  the report of a run or a sweep by its name in the list; of several side by side
// The handlers read what has changed since the request before, and change nothing. The list has a
// tag (HttpReply). A name that is not in the list is
// answered with 404, so that nothing but runs can be read. Any thread.
HttpRoutes run_routes(const std::string& folder);

// What `stoker serve` is asked for. A value.
struct ServeArguments {
  std::string folder = "runs";
  std::string listen;  // an HttpAddress; empty: 127.0.0.1, port 9470 or any free one
};

// `stoker serve`: serves a folder of runs until a signal ends it, which is no failure.
// Error(ExitCode::environment) where there is no such folder or the address cannot be had,
// ExitCode::config where it is none.
ExitCode serve(const ServeArguments& arguments);

}  // namespace stoker

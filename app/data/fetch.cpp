#include "app/data/fetch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/data/directory_tier.h"
#include "io/dataset/fetch.h"

namespace stoker {

ExitCode fetch_dataset(const FetchArguments& arguments) {
  const Recipe& recipe = find_recipe(arguments.name);
  const std::string root = arguments.to.empty() ? "data/" + recipe.name : arguments.to;
  FetchOptions options;
  options.archive = arguments.archive;
  options.url = arguments.url;
  options.progress = show_progress;
  options.notify = print_remark;
  const FetchResult result = fetch(recipe, *open_directory(root), options);
  if (arguments.json) {
    const nlohmann::json json = {{"root", root},
                                 {"was_there", result.was_there},
                                 {"source", result.source},
                                 {"files", result.files},
                                 {"bytes", result.bytes}};
    fmt::print("{}\n", json.dump());
  } else if (result.was_there) {
    fmt::print("{} is there already\n", root);
  } else {
    fmt::print("{}: {} files, {} bytes from {}\n", root, result.files, result.bytes, result.source);
  }
  return ExitCode::ok;
}

std::string fetchable_names() { return fmt::format("{}", fmt::join(recipe_names(), ", ")); }

}  // namespace stoker

#include "app/tools/data/fetch.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "io/core/text/text.h"
#include "io/dataset/fetch.h"

namespace stoker {

std::unique_ptr<Storage> open_directory(const std::string& root) {
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text("posix")});
  node.entries.push_back({"root", {}, Node::text(root)});
  return Registry<Storage>::global().parse(Section(node, "", "storage", nullptr)).create({});
}

ExitCode fetch_dataset(const FetchArguments& arguments) {
  const Recipe& recipe = find_recipe(arguments.name);
  const std::string root = arguments.to.empty() ? "data/" + recipe.name : arguments.to;
  FetchOptions options;
  options.archive = arguments.archive;
  options.url = arguments.url;
  options.progress = show_progress;
  options.notify = print_note;
  const FetchResult result = fetch(recipe, *open_directory(root), options);
  const std::string text =
      result.was_there ? root + " is there already\n"
                       : fmt::format("{}: {}, {} from {}\n", root, plural(result.files, "file"),
                                     plural(result.bytes, "byte"), result.source);
  return print_result(arguments.json,
                      {{"root", root},
                       {"was_there", result.was_there},
                       {"source", result.source},
                       {"files", result.files},
                       {"bytes", result.bytes}},
                      text);
}

}  // namespace stoker

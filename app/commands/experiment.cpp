#include "app/commands/commands.h"
#include "app/experiment/listing.h"

namespace stoker {
namespace {

void add_shared(const Command& command, ListArguments& arguments) {
  command.argument("--plugin", arguments.plugins, "absolute path of a plug-in to load first");
  command.flag("--json", arguments.json, "print JSON");
}

}  // namespace

void add_check(const Command& program) {
  const Command command = program.add(
      "check", "Check a configuration without touching data; print it with every default");
  ConfigArguments& arguments = command.run(check_experiment);
  command.config(arguments);
}

void add_list(const Command& program) {
  const Command command = program.add("list", "List the components there are");
  ListArguments& arguments = command.run(list_components);
  command.argument("KIND", arguments.kind, "storage, dataset, decoder, loader, ...");
  command.flag("--figures", arguments.figures,
               "instead: every figure of a run, as a page of Markdown");
  add_shared(command, arguments);
}

void add_describe(const Command& program) {
  const Command command = program.add("describe",
                                      "Describe the options of a component, or of all of a KIND; "
                                      "without both: the experiment file's keys");
  ListArguments& arguments = command.run(describe_component);
  command.argument("KIND", arguments.kind, "storage, dataset, decoder, loader, ...");
  command.argument("NAME", arguments.type, "its type: in YAML");
  add_shared(command, arguments);
}

}  // namespace stoker

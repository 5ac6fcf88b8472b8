#include "app/commands/commands.h"
#include "app/experiment/listing.h"

namespace stoker {
namespace {

void add_shared(const Command& command, ListArguments& arguments) {
  command.argument("--plugin", arguments.plugins, "Absolute path of a plug-in to load first.");
  command.flag("--json", arguments.json, "Print JSON.");
}

}  // namespace

void add_check(const Command& program) {
  const Command command = program.add(
      "check", "Check a configuration and print it with every default. No data is touched.");
  ConfigArguments& arguments = command.run(check_experiment);
  command.config(arguments);
}

void add_list(const Command& program) {
  const Command command = program.add("list", "List the types of every kind of component.");
  ListArguments& arguments = command.run(list_components);
  command.argument("KIND", arguments.kind,
                   "List only this kind: storage, dataset, decoder, loader, ...");
  command.flag("--figures", arguments.figures,
               "List every figure of a run instead, as a page of Markdown.");
  add_shared(command, arguments);
}

void add_describe(const Command& program) {
  const Command command =
      program.add("describe",
                  "Describe the options of one component, or of all components of a KIND. Without "
                  "arguments, describe the keys of an experiment file.");
  ListArguments& arguments = command.run(describe_component);
  command.argument("KIND", arguments.kind,
                   "The kind of component: storage, dataset, decoder, loader, ...");
  command.argument("NAME", arguments.type,
                   "The type of the component, as a YAML file names it after 'type:'.");
  add_shared(command, arguments);
}

}  // namespace stoker

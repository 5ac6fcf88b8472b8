#include "app/base/command_line.h"
#include "app/commands/commands.h"
#include "app/commands/listing.h"
#include "app/process/healthcheck.h"

namespace stoker {
namespace {

void add_shared(const Command& command, ListArguments& arguments) {
  command.argument("--plugin", arguments.plugins, "Absolute path of a plug-in to load first.");
  command.flag("--json", arguments.json, "Print JSON.");
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
                  "Describe the options of one component, or of all components of a KIND; a type "
                  "may stand alone (describe prefetched). Without arguments, describe the keys of "
                  "an experiment file.");
  ListArguments& arguments = command.run(describe_component);
  command.argument("KIND", arguments.kind,
                   "The kind of component: storage, dataset, decoder, loader, ...; or a type.");
  command.argument("NAME", arguments.type,
                   "The type of the component, as a YAML file names it after 'type:'.");
  add_shared(command, arguments);
}

void add_healthcheck(const Command& program) {
  const Command command = program.add("healthcheck",
                                      "Ask a run whether it makes progress. The exit code is 0 for "
                                      "yes, 7 for no, and 3 if there is no answer.");
  HealthArguments& arguments = command.run(check_health);
  command
      .argument("ADDRESS", arguments.address,
                "The address at which the run's sink `prometheus` listens.")
      .or_environment("STOKER_LISTEN");
  command.flag("--json", arguments.json, "Print JSON.");
}

void add_help(const Command& program) {
  const Command command =
      program.add("help",
                  "Print the help of a command: help train, help bench read. Or the exit "
                  "codes: help exit-codes.");
  HelpArguments& arguments = command.run(print_help);
  command.argument("TOPIC", arguments.topic, "A command, or exit-codes.");
}

void add_version(const Command& program) {
  program.add("version", "Print the version, what it was built with, and the revision.")
      .run(print_version);
}

const RegisteredCommand list_command("list", add_list);
const RegisteredCommand describe_command("describe", add_describe);
const RegisteredCommand healthcheck_command("healthcheck", add_healthcheck);
const RegisteredCommand help_command("help", add_help);
const RegisteredCommand version_command("version", add_version);

}  // namespace
}  // namespace stoker

#include "app/base/command_line.h"
#include "app/tools/schema/schema.h"

namespace stoker {
namespace {

void add_schema(const Command& program) {
  const Command command = program.add(
      "schema",
      "Print the JSON Schema of an experiment or a sweep, with which editors complete its keys.");
  SchemaArguments& arguments = command.run(print_schema);
  command.argument("OF", arguments.of, "experiment or sweep.");
}

const RegisteredCommand schema_command("schema", add_schema);

}  // namespace
}  // namespace stoker

#include "app/train/train.h"

#include "app/commands/commands.h"

namespace stoker {

void add_train(const Command& program) {
  const auto arguments = std::make_shared<TrainArguments>();
  const Command command = program.add("train", "Run an experiment; leaves a run directory");
  command.config(*arguments);
  command.flag("--json", arguments->json, "print the summary as one line of JSON");
  command.flag("-q,--quiet", arguments->quiet, "print warnings and errors only");
  command.run([=] { return train(*arguments); });
}

}  // namespace stoker

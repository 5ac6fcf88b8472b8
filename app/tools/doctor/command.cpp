#include "app/base/tool_command.h"
#include "app/tools/doctor/doctor.h"

namespace stoker {
namespace {

constexpr const char* kDoctorFooter = R"(
--verify repeats the run in child processes, as it was and with the proposed overrides, A B A B: --rounds of
them, each of about --seconds, in RUN/verify. Start it where the run was started: paths of the configuration may be
relative. Checkpoints of these runs go to the folder doctor-verify on their tiers, and stay there.)";

void add_doctor(const Command& program) {
  const Command command =
      program.add("doctor", "Say what holds a run up, by what evidence, and which setting to try");
  DoctorArguments& arguments = command.run(examine_run);
  command.footer(kDoctorFooter);
  command.argument("RUN", arguments.run, "the directory of a run that has ended").required();
  command.flag("--verify", arguments.verify, "try the first proposal");
  command.argument("--rounds", arguments.rounds, "pairs of runs: as it was, and changed")
      .range(2, 1000);
  command.argument("--seconds", arguments.seconds, "how long each run takes, about").positive();
  command.argument("--steps", arguments.steps, "steps of each run, instead of --seconds")
      .positive();
  command.argument("--dir", arguments.directory, "directory of these runs; default: RUN/verify");
  command.flag("--json", arguments.json, "print JSON");
}

const ToolCommand doctor_command("doctor", add_doctor);

}  // namespace
}  // namespace stoker

#include "app/base/command_line.h"
#include "app/tools/doctor/doctor.h"

namespace stoker {
namespace {

constexpr const char* kDoctorFooter = R"(
--verify repeats the run in child processes, in turn as it was (A) and with the proposed overrides (B): A B A B. There
are --rounds such pairs in RUN/verify, and each run takes about --seconds. Call it in the directory in which the run was
started, because paths of the configuration may be relative. Each run saves its checkpoints to a folder of
its own on the same tiers, which is removed after the run.)";

void add_doctor(const Command& program) {
  const Command command = program.add(
      "doctor", "Say what holds a run up, what shows it, and which setting to try next.");
  DoctorArguments& arguments = command.run(examine_run);
  command.footer(kDoctorFooter);
  command
      .argument(
          "RUN", arguments.run,
          "The directory of a run that has ended, or a folder of runs, of which the newest is "
          "taken.")
      .required();
  command.flag("--verify", arguments.verify, "Try the first proposal in new runs, and compare.");
  command
      .argument("--rounds", arguments.rounds,
                "Number of pairs of runs. Each pair has one run as it was and one with the change.")
      .range(2, 1000);
  command
      .argument("--seconds", arguments.seconds,
                "How long each run takes, in seconds, approximately.")
      .positive();
  command.argument("--steps", arguments.steps, "Length of each run in steps, instead of --seconds.")
      .positive();
  command.argument("--dir", arguments.directory,
                   "Directory for these runs. The default is RUN/verify.");
  command.flag("--json", arguments.json, "Print JSON.");
}

const RegisteredCommand doctor_command("doctor", add_doctor);

}  // namespace
}  // namespace stoker

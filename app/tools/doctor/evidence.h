#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/tools/report/run_files.h"
#include "io/checkpoint/checkpointer.h"
#include "io/core/config/node.h"

namespace stoker {

// What a run's files say about its time, in the form that the doctor's rules want. A value. Times
// are seconds; what was not measured is absent. All rules see the run through this one struct, so
// that they need no JSON and no file.
struct Evidence {
  // The resolved configuration.
  Node config;
  // As summary.json has them: "completed", "stopped" or "failed", and why it failed.
  std::string status;
  std::string error;
  // Counts of this process, without what came before a resume.
  int64_t steps = 0;
  int64_t images = 0;
  // Duration of the training loop.
  double wall_s = 0;

  // The times below are the device's; where none was observed, the trainer's thread's.
  bool device_observed = false;
  // The CPU computes (device.timing_method is "host"), so others can take its cores.
  bool on_host = true;
  // What all costs are shares of, and how much of it was work.
  double total_s = 0;
  double busy_s = 0;
  // Time of copies to the device, whether they were hidden or not.
  double copy_s = 0;
  // Idle because of data, without fill_s; because of copies to the device; because of checkpoints;
  // because of other ranks; because of all else that the host did.
  double data_s = 0;
  double h2d_s = 0;
  double checkpoint_s = 0;
  double peers_s = 0;
  double host_s = 0;
  // Idle time because the pipeline was filled for the first time. A longer run has no more of it.
  double fill_s = 0;
  // What the trainer's thread spent on evaluations and reports, whether the device waited or not.
  double eval_s = 0;
  double log_s = 0;

  // The loader's type.
  std::string loader;
  // The loader has complete batches before they are asked for; and it has them on the device.
  bool works_ahead = true;
  bool copies_ahead = false;
  // False: the trainer's own thread reads and decodes.
  bool has_workers = true;
  // Threads that would read in parallel if the loader let them.
  int64_t workers = 0;
  int64_t batch_size = 0;
  // What the workers did with their time, summed over them, for the training split: reading,
  // decoding, waiting because there was nothing left to fill.
  double read_s = 0;
  double decode_s = 0;
  double wait_s = 0;
  // Samples that were read, and their encoded bytes.
  double reads = 0;
  double read_bytes = 0;
  // The tier that the data set names. Empty: it reads none.
  std::string tier;
  // The tier keeps copies of another tier's objects.
  bool keeps_copies = false;
  // The tier that reads end at: the one behind the copies, where there are some; and its type.
  std::string source;
  std::string source_type;
  // What was read of it, and the time with at least one read under way; an upper bound of that
  // where the tier was not asked (mapped files).
  double source_bytes = 0;
  double source_busy_s = 0;
  // What the tier can do at most. Known only for an emulated one.
  std::optional<double> source_mb_per_s;
  // An emulated tier could not give what its model allows: it gave all that it had.
  bool fell_behind = false;
  // Waiting for data per step: in the first epoch of this process, and in the later ones.
  std::optional<double> first_epoch_wait_s;
  std::optional<double> later_wait_s;
  double first_epoch_steps = 0;

  // Cores of the machine; at least 1.
  double cores = 1;
  // Cores that this process and that all others kept busy, means over the loop.
  std::optional<double> own_cores;
  std::optional<double> others_cores;

  // What the options of the checkpointer say. `saves` is false if there is no checkpointer.
  CheckpointerInfo checkpoint;

  // Thread time that the run spent on measuring itself.
  double measuring_s = 0;
  // Samples that could not be used.
  double skipped = 0;

  // 0 if nothing was observed.
  double share(double seconds) const { return total_s > 0 ? seconds / total_s : 0; }
  // Worker seconds of all samples, shared by the workers that there are; not faster than the tier.
  double production_s() const;
};

// Reads no file and never throws for what a summary lacks: absent numbers are 0.
// Error(ExitCode::config) where the configuration is no YAML. A component of a plug-in is not known
// here; what only it could say keeps its default.
Evidence gather(const RunFiles& run);

// The value of a path such as "loader.workers" as text. Empty: the configuration has no such value.
std::string setting(const Node& config, const std::string& path);
// The same as a whole number from 0 to 10^12, so that a rule may multiply it. Empty if it is not
// such a number.
std::optional<int64_t> whole_setting(const Node& config, const std::string& path);
// A count that a file or a rule has as a fraction, at most 10^15 to either side.
int64_t counted(double value);

}  // namespace stoker

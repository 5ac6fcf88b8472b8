#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/analysis/run_files.h"
#include "io/checkpoint/checkpointer.h"
#include "io/core/node.h"

namespace stoker {

// What a run's files say about its time, in the form that the doctor's rules want. A value. Times
// are seconds; what was not measured is absent. All rules see the run through this one struct, so
// that they need no JSON and no file.
struct Evidence {
  // The resolved configuration.
  Node config;
  // As summary.json has them: "completed", "stopped", "failed"; the error of a run that failed.
  std::string status;
  std::string error;
  int64_t steps = 0;  // of this process
  int64_t images = 0;
  double wall_s = 0;  // of the loop

  // Of the device; of the trainer's thread where no device was observed.
  bool device_observed = false;
  bool on_host = true;  // the CPU computes (device.timing_method: host)
  // What all costs are shares of: the time that was observed, and how much of it was work.
  double total_s = 0;
  double busy_s = 0;
  double copy_s = 0;  // of copies to the device
  double data_s = 0;  // idle because of data, without the first filling of a pipeline
  // Idle because of copies to the device, checkpoints, and all else that the host did.
  double h2d_s = 0;
  double checkpoint_s = 0;
  double host_s = 0;
  double fill_s = 0;  // idle because a pipeline was filled for the first time
  // Of the trainer's thread, whether the device waited for it or not.
  double eval_s = 0;  // of the trainer's thread
  double log_s = 0;

  std::string loader;         // its type
  bool works_ahead = true;    // complete batches before they are asked for
  bool copies_ahead = false;  // and on the device
  bool has_workers = true;    // false: the trainer's own thread reads and decodes
  int64_t workers = 0;        // that would read in parallel if the loader lets them
  int64_t batch_size = 0;
  // What the workers did with their time, summed over them: of the training split.
  double read_s = 0;  // worker seconds
  double decode_s = 0;
  double wait_s = 0;
  // Samples that were read, and their encoded bytes.
  double reads = 0;
  double read_bytes = 0;
  std::string tier;           // that the data set names; empty: none
  bool keeps_copies = false;  // of another tier's objects
  // The tier that reads end at: the one behind the copies, where there are some.
  std::string source;
  // As the configuration names it.
  std::string source_type;
  // What was read of it.
  double source_bytes = 0;
  double source_busy_s = 0;               // at least one read under way; else an upper bound
  std::optional<double> source_mb_per_s;  // what it can do, where that is known
  bool fell_behind = false;  // an emulated one that could not give what it was told to: it gave all
  std::optional<double> first_epoch_wait_s;  // data_wait of the first epoch, per step, against
  std::optional<double> later_wait_s;        // that of the others
  // Steps of the first epoch in this process.
  double first_epoch_steps = 0;

  // Of the machine; at least 1.
  double cores = 1;
  // Means over the loop; absent where the kernel does not say.
  std::optional<double> own_cores;     // that the process kept busy, on average
  std::optional<double> others_cores;  // that other processes did

  CheckpointerInfo checkpoint;  // what its options say; saves is false without one

  // Thread time that the run spent on measuring itself.
  double measuring_s = 0;
  double skipped = 0;  // bad samples

  // 0 where nothing was observed.
  double share(double seconds) const { return total_s > 0 ? seconds / total_s : 0; }
  // Worker seconds of all samples, shared by the workers that there are; not faster than the tier.
  double production_s() const;
};

// Reads no file and never throws for what a summary lacks: absent numbers are 0.
// Error(ExitCode::config) where the configuration is no YAML. A component of a plug-in is not known
// here; what only it could say keeps its default.
Evidence gather(const RunFiles& run);

// "loader.workers" as text; empty: there is none.
std::string setting(const Node& config, const std::string& path);

}  // namespace stoker

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "app/analysis/run_files.h"
#include "io/core/node.h"

namespace stoker {

// What a run's files say about its time, in the form that the doctor's rules want. A value. Times
// are seconds; what was not measured is absent.
struct Evidence {
  Node config;
  std::string status;
  std::string error;
  int64_t steps = 0;  // of this process
  int64_t images = 0;
  double wall_s = 0;  // of the loop

  // Of the device; of the trainer's thread where no device was observed.
  bool device_observed = false;
  std::string device;  // its type in the configuration
  double total_s = 0;
  double busy_s = 0;
  double copy_s = 0;  // of copies to the device
  double data_s = 0;  // idle because of data, without the first filling of a pipeline
  double h2d_s = 0;
  double checkpoint_s = 0;
  double host_s = 0;
  double fill_s = 0;  // idle because a pipeline was filled for the first time
  double eval_s = 0;  // of the trainer's thread
  double log_s = 0;

  std::string loader;
  int64_t workers = 0;  // that would read in parallel if the loader lets them
  int64_t batch_size = 0;
  double read_s = 0;  // worker seconds
  double decode_s = 0;
  double wait_s = 0;
  double reads = 0;
  double read_bytes = 0;
  double read_busy_s = 0;               // at least one read under way; else an upper bound
  std::optional<double> tier_mb_per_s;  // what the data's tier can do, where that is known
  std::string tier;                     // of the data; empty: none
  std::string tier_type;
  std::optional<double> first_epoch_wait_s;  // data_wait of the first epoch, per step, against
  std::optional<double> later_wait_s;        // that of the others
  double first_epoch_steps = 0;

  double cores = 1;
  std::optional<double> own_cores;     // that the process kept busy, on average
  std::optional<double> others_cores;  // that other processes did

  double measuring_s = 0;
  double skipped = 0;  // bad samples

  double share(double seconds) const { return total_s > 0 ? seconds / total_s : 0; }
  // Worker seconds of all samples, shared by the workers that there are; not faster than the tier.
  double production_s() const;
};

Evidence gather(const RunFiles& run);

// "loader.workers" as text; empty: there is none.
std::string setting(const Node& config, const std::string& path);

}  // namespace stoker

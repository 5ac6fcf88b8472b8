#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "io/core/config/node.h"
#include "io/metrics/run_facts.h"

namespace stoker {

// What a run's record says about its time, in the form that the rules want. A value. Times are
// seconds; what was not measured is absent. All rules see the run through this one struct.
struct Evidence : RunPlan {
  // The resolved configuration.
  Node config;
  // As the record has them: "train", "completed", "stopped" or "failed", and why it failed.
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
  // What was read of the source, and the time with at least one read under way; an upper bound of
  // that where the tier was not asked (mapped files).
  double source_bytes = 0;
  double source_busy_s = 0;
  // An emulated tier could not give what its model allows: it gave all that it had.
  bool fell_behind = false;
  // How many processes of other runs used the emulated device of one of the tiers at a time, and
  // which tier it was.
  double strangers = 0;
  std::string shared_tier;
  // Waiting for data per step: in the first epoch of this process, and in the later ones.
  std::optional<double> first_epoch_wait_s;
  std::optional<double> later_wait_s;
  double first_epoch_steps = 0;

  // Cores that this process may use, of which a quota may leave a part, and that the machine has.
  double cores = 1;
  double machine_cores = 1;
  // Cores that this process and that all others kept busy, means over the loop.
  std::optional<double> own_cores;
  std::optional<double> others_cores;
  // Threads of this process that wanted a core and had none, a mean over the loop.
  std::optional<double> waiting_threads;

  // Thread time that the run spent on measuring itself.
  double measuring_s = 0;
  // Samples that could not be used.
  double skipped = 0;

  // Its threads wanted more cores than they got; true where nobody counted them.
  bool starved() const;
  // It has all the cores that it may use, and wants more.
  bool limited() const;
  // Others hold so many cores that this process does not get those that it may use.
  bool crowded() const;
  // Cores that this process could still get; where nobody counted, those without a worker.
  double free_cores() const;

  // 0 if nothing was observed.
  double share(double seconds) const { return total_s > 0 ? seconds / total_s : 0; }
  // Worker seconds of all samples, shared by the workers that there are; not faster than the tier.
  double production_s() const;
};

// Never throws for what a record lacks: absent numbers are 0.
Evidence gather(const nlohmann::json& record, const Node& config);

// A plan as the record has it; from_json keeps the default of what is missing.
void to_json(nlohmann::json& json, const RunPlan& plan);
void from_json(const nlohmann::json& json, RunPlan& plan);

// The value of a path such as "loader.workers" as text. Empty: the configuration has no such value.
std::string setting(const Node& config, const std::string& path);
// The same as a whole number from 0 to 10^12, so that a rule may multiply it. Empty if it is not
// such a number.
std::optional<int64_t> whole_setting(const Node& config, const std::string& path);
// A count that a file or a rule has as a fraction, at most 10^15 to either side.
int64_t counted(double value);

}  // namespace stoker

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "app/tools/simulate/inputs.h"
#include "io/metrics/idle.h"

namespace stoker {

// What a simulation says about a run, in seconds. For ranks it is the mean of all. A value.
struct SimulationResult {
  int64_t ranks = 0, nodes = 0;
  int64_t steps = 0, images = 0;
  double wall_s = 0;
  double data_wait_s = 0;
  double busy_s = 0;      // computing and exchanging gradients
  double exchange_s = 0;  // the part of it that computing does not hide
  std::array<double, kIdleCauses> idle_s{};
  double read_s = 0, decode_s = 0;  // time of the loader's threads
  double core_s = 0;                // time of cores, of all nodes together
  // Time in which some worker of some rank had a sample under way: CDB's index, where decoding is
  // 0.
  double read_union_s = 0;
  double checkpoint_stall_s = 0;
  int64_t saved = 0, skipped = 0, drained = 0;
  double save_s = 0, drain_s = 0;             // mean of a set
  double flush_s = 0;                         // after the loop, until all is drained
  uint64_t read_bytes = 0, cached_bytes = 0;  // from tiers (with drains' reads), from page caches
  std::vector<double> epochs_s;

  // Seconds of one core that the simulation itself took.
  uint64_t events = 0;
  double simulated_in_s = 0;

  double steps_per_s() const { return wall_s > 0 ? static_cast<double>(steps) / wall_s : 0; }
  double images_per_s() const { return wall_s > 0 ? static_cast<double>(images) / wall_s : 0; }
  double io_share() const { return wall_s > 0 ? data_wait_s / wall_s : 0; }
  // The share of reading in all time of a rank, by the nested method of TimeLogger.
  double read_share() const { return wall_s > 0 ? read_s / wall_s : 0; }
  double idle() const;
  double idle_share() const { return busy_s + idle() > 0 ? idle() / (busy_s + idle()) : 0; }
  // Cores of each node that are busy, on average.
  double busy_cores() const {
    return wall_s > 0 ? core_s / wall_s / static_cast<double>(nodes) : 0;
  }
  // What TimeLogger calls training: all but reading, loading and saving.
  double train_s() const { return wall_s - data_wait_s - checkpoint_stall_s; }
  double rank_steps_per_s() const {
    return simulated_in_s > 0 ? static_cast<double>(steps * ranks) / simulated_in_s : 0;
  }
};

// A run as a discrete-event simulation: a function of the inputs. Error(config) where they
// contradict each other. One thread; any number of simulations at once.
SimulationResult simulate_run(const SimulationInputs& inputs);

}  // namespace stoker

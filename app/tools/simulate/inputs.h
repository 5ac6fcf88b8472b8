#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_options.h"
#include "io/core/config/config.h"
#include "io/core/config/registry.h"
#include "io/loader/loader.h"
#include "io/storage/emulated/tier_device.h"
#include "io/storage/emulated/tier_figures.h"

// What a simulation is given. Values; every one of them has a key in YAML, and an origin: a
// measured run, the file, an override, or the default.

namespace stoker {

struct LoaderOptions;

// A tier: devices as an emulated tier models them, and how objects lie on them.
struct SimulatedTier {
  TierFigures figures;
  TierLayout layout;
  bool per_node = false;

  template <class V>
  void visit(V& v) {
    figures.visit(v);
    layout.visit(v);
    v("per_node", per_node,
      "true: each node has such a tier of its own. false: all nodes share one.");
  }
  void check(const Section& section) const;
};

// The exchange of gradients after a step: a ring all-reduce, as on an emulated device.
struct SimulatedNetwork {
  std::optional<double> gb_per_s;
  double latency_us = 0;
  double overlap = 0;

  template <class V>
  void visit(V& v) {
    v("gb_per_s", gb_per_s,
      "Speed of each rank's link in 10^9 bytes/s. If absent, the exchange takes no time.",
      Limits{1e-6, 1e6});
    v("latency_us", latency_us,
      "Latency of each of the 2 (ranks - 1) messages of an exchange, in microseconds.",
      Limits{0, 1e9});
    v("overlap", overlap, "Share of a step's computing during which the exchange can run.",
      Limits{0, 1});
  }
};

// `machine:`
struct SimulatedMachine {
  int64_t nodes = 1;
  int64_t ranks_per_node = 1;
  std::optional<double> cores;
  std::map<std::string, SimulatedTier> storage;
  ByteSize page_cache;
  double page_cache_mb_per_s = 5000;
  SimulatedNetwork network;

  int64_t ranks() const { return nodes * ranks_per_node; }
  template <class V>
  void visit(V& v) {
    v("nodes", nodes, "Number of machines.", Limits{1, 1e6});
    v("ranks_per_node", ranks_per_node, "Number of ranks on each machine.", Limits{1, 1e5});
    v("cores", cores,
      "Number of cores of each machine, which its threads share. If absent, every thread has one.",
      Limits{0.01, 1e5});
    v("storage", storage, "Tiers by name.");
    v("page_cache", page_cache,
      "Size of the page cache of a node for the data, in bytes. The least recently used data leave "
      "it first. 0: no page cache.");
    v("page_cache_mb_per_s", page_cache_mb_per_s,
      "Speed of reads from the page cache in 10^6 bytes/s.", Limits{1, 1e6});
    v("network", network, "The network between ranks.");
  }
  void check(const Section& section) const;
};

// `workload.data:`, what is read.
struct SimulatedData {
  int64_t samples = 0;
  int64_t samples_per_file = 1;
  ByteSize sample_bytes;
  std::optional<TierName> tier;
  bool whole_files = false;
  int64_t requests = 1;
  int64_t metadata = 0;

  template <class V>
  void visit(V& v) {
    v.required("samples", samples, "Number of training samples.", Limits{1, 1e10});
    v("samples_per_file", samples_per_file, "Number of samples in one file.", Limits{1, 1e9});
    v("sample_bytes", sample_bytes, "Encoded size of each sample in bytes.");
    v("tier", tier, "Tier that the samples are read from. If absent, reading costs only read_ms.");
    v("whole_files", whole_files, "The whole file is read for the first of its samples.");
    v("requests", requests, "Number of reads for a sample, or for a whole file.", Limits{1, 1e6});
    v("metadata", metadata, "Number of other operations before those reads, such as opening.",
      Limits{0, 1e4});
  }
};

// `workload.costs:`, milliseconds beside what the tier takes.
struct SimulatedCosts {
  double read_ms = 0;
  double decode_ms = 0;
  double step_ms = 0;
  double image_ms = 0;
  double step_stdev = 0;
  double host_ms = 0;
  int64_t step_cores = 0;
  double core_share = 1;
  double copy_ms = 0;
  double start_ms = 0;
  int64_t queue_depth = 0;
  ByteSize gradients;

  template <class V>
  void visit(V& v) {
    constexpr Limits kMs{0, 1e9};
    v("read_ms", read_ms, "Milliseconds to read a sample, without the time of the tier.", kMs);
    v("decode_ms", decode_ms, "Milliseconds to decode and augment a sample.", kMs);
    v("step_ms", step_ms,
      "Milliseconds of computing in each step of a rank, whatever its number of samples.", kMs);
    v("image_ms", image_ms, "Milliseconds of computing for each sample in the step of a rank.",
      kMs);
    v("step_stdev", step_stdev,
      "Standard deviation of the computing time over its mean. The time is log-normal and drawn "
      "for each rank and step.",
      Limits{0, 10});
    v("host_ms", host_ms, "Milliseconds that the trainer's thread needs between two batches.", kMs);
    v("step_cores", step_cores,
      "Number of threads of the machine that compute a step. 0: an accelerator computes it.",
      Limits{0, 1e4});
    v("core_share", core_share,
      "Share of read_ms, decode_ms, host_ms and of the time of step_cores in which a core "
      "computes. "
      "In the rest the thread waits.",
      Limits{0, 1});
    v("copy_ms", copy_ms, "Milliseconds to copy a rank's part of a batch to the device.", kMs);
    v("start_ms", start_ms, "Milliseconds from the beginning of the loop until the workers begin.",
      kMs);
    v("queue_depth", queue_depth,
      "How many steps the host may submit before it waits for the device. 0: it waits for each "
      "step.",
      Limits{0, 1024});
    v("gradients", gradients, "How many bytes are exchanged after each step.");
  }
};

// `workload.set:`, what a checkpoint costs.
struct SimulatedSet {
  ByteSize bytes;
  double snapshot_mb_per_s = 4000;
  int64_t operations = 30;
  double overhead_ms = 0;
  double rank_ms = 0;

  template <class V>
  void visit(V& v) {
    v("bytes", bytes, "Size of a checkpoint in bytes, of all ranks together.");
    v("snapshot_mb_per_s", snapshot_mb_per_s,
      "Speed at which a rank copies its state into memory, in 10^6 bytes/s.", Limits{1, 1e7});
    v("operations", operations,
      "Number of operations on the first tier, besides writes, until the checkpoint of one rank is "
      "committed.",
      Limits{9, 1e4});
    v("overhead_ms", overhead_ms, "Milliseconds of a save, in addition to the time of its tier.",
      Limits{0, 1e9});
    v("rank_ms", rank_ms, "Milliseconds of a save for each further rank that has to agree.",
      Limits{0, 1e9});
  }
};

// `workload:`
struct SimulatedWorkload {
  uint64_t seed = 1;
  int64_t epochs = 1;
  std::optional<int64_t> max_steps;
  Component<Loader> loader = default_component<Loader>("prefetched");
  SimulatedData data;
  SimulatedCosts costs;
  Component<Checkpointer> checkpoint = default_component<Checkpointer>("none");
  SimulatedSet set;

  template <class V>
  void visit(V& v) {
    v("seed", seed, "Seed of the order of samples and of all that is drawn.");
    v("epochs", epochs, "Number of passes over the samples.", Limits{1, 1e9});
    v("max_steps", max_steps, "Stop after this many steps.", Limits{1, 1e12});
    v("loader", loader, "The loader, as in an experiment.");
    v.required("data", data, "The data that are read.");
    v("costs", costs, "How long a sample and a step take.");
    v("checkpoint", checkpoint,
      "The checkpointer, as in an experiment. Its tiers are those of the machine.");
    v("set", set, "How large a checkpoint is, and how long it takes.");
  }
};

// A simulation's file. A value.
struct SimulationOptions {
  SimulatedWorkload workload;
  SimulatedMachine machine;

  template <class V>
  void visit(V& v) {
    v.required("workload", workload, "The training to simulate.");
    v("machine", machine, "The machine to simulate.");
  }
  void check(const Section& section) const;
};

// Where the value of an input comes from. A value.
struct InputOrigin {
  std::string key;    // "workload.costs.decode_ms"
  std::string value;  // as YAML has it
  std::string from;   // "RUN/summary.json", a place in a file, an override, or "default"
};

// All that a simulation works with. A value.
struct SimulationInputs {
  SimulationOptions options;
  // The size of each training sample, if it was looked up. Empty: all are equal.
  std::vector<uint64_t> sample_bytes;
  std::vector<InputOrigin> origins;
};

// Reads a tree: strictly, as all YAML. Every leaf's origin is its node's place. Error(config) with
// the place.
SimulationInputs read_simulation(const Node& root);

// A file with these sections on top of `base` (of a measured run, or empty), then "a.b=c"
// overrides. Error as load_yaml() and read_simulation().
Node merge_inputs(Node base, const std::string& file, const std::vector<std::string>& overrides);

// The options of any loader, and those options that all checkpointers have.
LoaderOptions simulated_loader(const SimulatedWorkload& workload);
CheckpointOptions simulated_checkpoints(const SimulatedWorkload& workload);

}  // namespace stoker

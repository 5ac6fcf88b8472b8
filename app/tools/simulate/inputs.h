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
#include "io/storage/emulated/tier_figures.h"

// What a simulation is given. Values; every one of them has a key in YAML, and an origin: a
// measured run, the file, an override, or the default.

namespace stoker {

// A tier: devices as an emulated tier models them, and how objects lie on them. Its figures are
// those of one device (a stripe: on Lustre an object storage target).
struct SimulatedTier {
  TierFigures figures;
  int64_t stripes = 1;
  int64_t stripe_count = 1;
  ByteSize stripe_bytes{1 << 20};
  bool per_node = false;

  template <class V>
  void visit(V& v) {
    figures.visit(v);
    v("stripes", stripes, "devices with these figures", Limits{1, 100000});
    v("stripe_count", stripe_count, "devices that one object lies on", Limits{1, 100000});
    v("stripe_bytes", stripe_bytes, "bytes of an object on one device, before the next one");
    v("per_node", per_node, "each node has a tier of its own; false: one for all");
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
    v("gb_per_s", gb_per_s, "10^9 bytes/s of each rank's link; absent: the exchange takes no time",
      Limits{1e-6, 1e6});
    v("latency_us", latency_us, "of each of its 2 (ranks - 1) messages", Limits{0, 1e9});
    v("overlap", overlap, "share of a step's computing that it runs beside", Limits{0, 1});
  }
};

// `machine:`
struct SimulatedMachine {
  int64_t nodes = 1;
  int64_t ranks_per_node = 1;
  std::map<std::string, SimulatedTier> storage;
  ByteSize page_cache;
  double page_cache_mb_per_s = 5000;
  SimulatedNetwork network;

  int64_t ranks() const { return nodes * ranks_per_node; }
  template <class V>
  void visit(V& v) {
    v("nodes", nodes, "machines", Limits{1, 1e6});
    v("ranks_per_node", ranks_per_node, "ranks of each", Limits{1, 1e5});
    v("storage", storage, "tiers by name");
    v("page_cache", page_cache,
      "bytes of a node's page cache for the data, least recently used out first; 0: none");
    v("page_cache_mb_per_s", page_cache_mb_per_s, "10^6 bytes/s of what is read from it",
      Limits{1, 1e6});
    v("network", network, "between ranks");
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
    v.required("samples", samples, "of training", Limits{1, 1e10});
    v("samples_per_file", samples_per_file, "that lie in one file", Limits{1, 1e9});
    v("sample_bytes", sample_bytes, "encoded bytes of each");
    v("tier", tier, "that is read; absent: reading costs read_ms and nothing else");
    v("whole_files", whole_files, "a file is read as a whole for the first of its samples");
    v("requests", requests, "reads of a sample, or of a whole file", Limits{1, 1e6});
    v("metadata", metadata, "other operations before them, such as opening", Limits{0, 1e4});
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
  double copy_ms = 0;
  double start_ms = 0;
  int64_t queue_depth = 0;
  ByteSize gradients;

  template <class V>
  void visit(V& v) {
    constexpr Limits kMs{0, 1e9};
    v("read_ms", read_ms, "of a sample: reading, without the tier", kMs);
    v("decode_ms", decode_ms, "of a sample: decoding and augmenting", kMs);
    v("step_ms", step_ms, "computing of a rank's step, whatever its samples", kMs);
    v("image_ms", image_ms, "computing, for each sample of a rank's step", kMs);
    v("step_stdev", step_stdev,
      "standard deviation / mean of that; log-normal, drawn for each rank and step", Limits{0, 10});
    v("host_ms", host_ms, "of a step: the trainer's thread between two batches", kMs);
    v("copy_ms", copy_ms, "of a rank's part of a batch to the device", kMs);
    v("start_ms", start_ms, "from the begin of the loop until workers begin", kMs);
    v("queue_depth", queue_depth,
      "steps that the host may have submitted before it waits; 0: it waits for each",
      Limits{0, 1024});
    v("gradients", gradients, "bytes that are exchanged after a step");
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
    v("bytes", bytes, "of a set, of all ranks together");
    v("snapshot_mb_per_s", snapshot_mb_per_s, "10^6 bytes/s of a rank's copy into memory",
      Limits{1, 1e7});
    v("operations", operations,
      "on the first tier, beside writes, until a set of one rank is committed", Limits{9, 1e4});
    v("overhead_ms", overhead_ms, "of a save, beside its tier", Limits{0, 1e9});
    v("rank_ms", rank_ms, "of a save, for each further rank that has to agree", Limits{0, 1e9});
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
    v("seed", seed, "order, and what is drawn, are functions of it");
    v("epochs", epochs, "passes over the samples", Limits{1, 1e9});
    v("max_steps", max_steps, "stop after so many steps", Limits{1, 1e12});
    v("loader", loader, "as in an experiment");
    v.required("data", data, "what is read");
    v("costs", costs, "what a sample and a step cost");
    v("checkpoint", checkpoint, "as in an experiment; its tiers are those of the machine");
    v("set", set, "what a checkpoint costs");
  }
};

// What others measured in one setting of a study.
struct PublishedSetting {
  std::vector<std::string> with;
  bool used = false;
  std::map<std::string, double> figures;

  template <class V>
  void visit(V& v) {
    v("with", with, "assignments that make the file's inputs this setting's: machine.nodes=128");
    v("used", used, "the inputs were made of it; false: it is predicted");
    v.required("figures", figures, "by their names in a simulation's result");
  }
};

// `published:`, for files that redo a study. For people: nothing is calculated from it.
struct PublishedFigures {
  std::string source;
  std::vector<PublishedSetting> points;

  template <class V>
  void visit(V& v) {
    v("source", source, "where the figures are from");
    v("points", points, "each is simulated, and compared; `speedup` is over the first one");
  }
};

// A simulation's file. A value.
struct SimulationOptions {
  SimulatedWorkload workload;
  SimulatedMachine machine;
  PublishedFigures published;

  template <class V>
  void visit(V& v) {
    v.required("workload", workload, "what is trained");
    v("machine", machine, "on what");
    v("published", published, "what others measured");
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
  // Of each training sample, where they were looked up; else all are equal.
  std::vector<uint64_t> sample_bytes;
  std::vector<InputOrigin> origins;
};

// Reads a tree: strictly, as all YAML. Every leaf's origin is its node's place. Error(config) with
// the place.
SimulationInputs read_simulation(const Node& root);

// A file with these sections on top of `base` (of a measured run, or empty), then "a.b=c"
// overrides. Error as load_yaml() and read_simulation().
Node merge_inputs(Node base, const std::string& file, const std::vector<std::string>& overrides);

// Of every loader its options, and of a checkpointer those that all have.
LoaderOptions simulated_loader(const SimulatedWorkload& workload);
CheckpointOptions simulated_checkpoints(const SimulatedWorkload& workload);

}  // namespace stoker

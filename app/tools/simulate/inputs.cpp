#include "app/tools/simulate/inputs.h"

#include <algorithm>
#include <utility>

#include "io/core/error.h"
#include "io/loader/loader_options.h"

namespace stoker {
namespace {

// Mappings become one, key by key; all else is replaced. A component of another type is another
// one.
void merge(Node& into, const Node& from) {
  const Node* old_type = into.find("type");
  const Node* new_type = from.find("type");
  const bool other =
      old_type != nullptr && new_type != nullptr && old_type->scalar != new_type->scalar;
  if (into.kind != Node::Kind::mapping || from.kind != Node::Kind::mapping || other) {
    into = from;
    return;
  }
  for (const Node::Entry& entry : from.entries) {
    const auto found = std::ranges::find(into.entries, entry.key, &Node::Entry::key);
    if (found == into.entries.end()) {
      into.entries.push_back(entry);
    } else {
      merge(found->value, entry.value);
    }
  }
}

// Leaves of the resolved options, with the places of those that somebody gave.
void add_origins(const Node& resolved, const Node* given, const std::string& path,
                 std::vector<InputOrigin>& origins) {
  if (resolved.kind == Node::Kind::mapping) {
    for (const Node::Entry& entry : resolved.entries) {
      const Node* value = given == nullptr ? nullptr : given->find(entry.key);
      add_origins(entry.value, value, path + "." + entry.key, origins);
    }
    return;
  }
  if (resolved.kind == Node::Kind::null) return;
  origins.push_back({path, to_yaml(resolved), given == nullptr ? "default" : given->at.text()});
}

ConfigContext tiers_of(const Node& root) {
  ConfigContext context;
  const Node* machine = root.find("machine");
  const Node* storage = machine == nullptr ? nullptr : machine->find("storage");
  if (storage != nullptr) {
    for (const Node::Entry& tier : storage->entries) context.tiers.push_back(tier.key);
  }
  return context;
}

template <class Options, class T>
Options options_of(const Component<T>& component, const char* key) {
  const Node node = component.dump();
  Options options;
  FieldReader reader(Section(node, "", key, nullptr));
  options.visit(reader);
  return options;
}

}  // namespace

void SimulatedTier::check(const Section& section) const {
  figures.check(section);
  layout.check(section);
}

void SimulatedMachine::check(const Section& section) const {
  if (ranks() > 1 << 20) section.fail("nodes", "must have at most 1048576 ranks together");
}

void SimulationOptions::check(const Section& section) const {
  const SimulatedData& data = workload.data;
  const Section at = section.child("workload", *section.node().find("workload"));
  const LoaderInfo loader = workload.loader.info();
  // What others do between a sample and a batch is not modelled.
  const std::vector<std::string> known{"sync", "threaded", "prefetched", "device_prefetched"};
  if (std::ranges::find(known, workload.loader.type()) == known.end()) {
    at.fail("loader", "must be sync, threaded, prefetched or device_prefetched");
  }
  if (loader.samples_ahead > 0) {
    at.fail("loader", "must have samples_ahead: 0, as what is ahead is whole batches here");
  }
  if (loader.batch_size > data.samples)
    at.fail("loader", "must have a batch_size of at most data.samples");
  if (loader.batch_size < machine.ranks()) {
    at.fail("loader", "must have a batch_size of at least one sample for each rank");
  }
  if (data.whole_files && loader.workers > 1) {
    at.fail("loader", "must have workers: 1 (or be sync) where data.whole_files");
  }
  const SimulatedCosts& costs = workload.costs;
  if (costs.step_cores > 0 && (costs.queue_depth > 0 || costs.copy_ms > 0)) {
    at.fail("costs", "must have neither queue_depth nor copy_ms where step_cores compute the step");
  }
  if (simulated_checkpoints(workload).on_backlog == Backlog::replace) {
    at.fail("checkpoint", "must have on_backlog: block or skip");
  }
  for (const std::string& tier : workload.checkpoint.info().tiers) {
    if (!workload.checkpoint.info().saves || machine.storage.contains(tier)) continue;
    at.fail("checkpoint", "must name tiers of machine.storage, got '" + tier + "'");
  }
  if (workload.checkpoint.info().saves && workload.set.bytes.bytes == 0) {
    at.fail("set", "must give the bytes of a set where there are checkpoints");
  }
}

SimulationInputs read_simulation(const Node& root) {
  const ConfigContext context = tiers_of(root);
  SimulationInputs inputs;
  read_struct(Section(root, "", "", &context), inputs.options);
  add_origins(dump_struct(inputs.options.workload), root.find("workload"), "workload",
              inputs.origins);
  add_origins(dump_struct(inputs.options.machine), root.find("machine"), "machine", inputs.origins);
  return inputs;
}

Node merge_inputs(Node base, const std::string& file, const std::vector<std::string>& overrides) {
  if (!file.empty()) merge(base, load_yaml(file));
  for (const std::string& assignment : overrides) apply_override(base, assignment);
  return base;
}

LoaderOptions simulated_loader(const SimulatedWorkload& workload) {
  return options_of<LoaderOptions>(workload.loader, "loader");
}

CheckpointOptions simulated_checkpoints(const SimulatedWorkload& workload) {
  if (!workload.checkpoint.info().saves) return {};
  return options_of<CheckpointOptions>(workload.checkpoint, "checkpoint");
}

}  // namespace stoker

#include "app/train/ranks/agreement.h"

#include <c10/core/DeviceType.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "app/process/provenance.h"
#include "io/core/ranks/agreement.h"
#include "io/dataset/data_identity.h"

namespace stoker {
namespace {

// What may differ from machine to machine, with all that lies below: where things lie there, how
// much of it is used, and what is watched. Whatever stands beside a step, a batch or a checkpoint
// is not among it, for ranks make those together.
constexpr std::array kOfMachine{"plugins",
                                "storage",
                                "run.dir",
                                "run.page_cache",
                                "run.drop_caches",
                                "run.hang_seconds",
                                "device",
                                "loader.workers",
                                "loader.pin_workers",
                                "loader.prefetch_batches",
                                "loader.device_batches",
                                "loader.samples_ahead",
                                "training.threads",
                                "metrics.sinks",
                                "metrics.profile",
                                "metrics.io_profile"};

bool of_machine(const std::string& path) {
  if (path == "device.type") return false;
  return std::ranges::any_of(kOfMachine, [&path](const std::string& key) {
    return path == key || path.starts_with(key + ".");
  });
}

// How many training samples each class has: more than a digest says.
void add_classes(const Dataset& dataset, const std::vector<std::string>& names, Facts& facts) {
  std::vector<int64_t> samples(names.size());
  for (int64_t i = 0; i < dataset.size(Split::train); ++i) {
    const int64_t label = dataset.info(Split::train, i).label;
    if (label >= 0 && label < std::ssize(samples)) ++samples[static_cast<size_t>(label)];
  }
  for (size_t i = 0; i < names.size(); ++i) {
    facts.emplace_back(fmt::format("training samples of class '{}'", names[i]),
                       std::to_string(samples[i]));
  }
}

Facts facts_of(const Dataset& dataset) {
  const DataIdentity data = identity_of(dataset);
  const auto text = [](int64_t count, const std::string& hash) {
    return fmt::format("{} (digest {})", count, hash);
  };
  Facts facts{{"classes", text(data.classes, data.classes_hash)},
              {"training samples", text(data.train.count, data.train.hash)},
              {"test samples", text(data.test.count, data.test.hash)}};
  add_classes(dataset, data.names, facts);
  return facts;
}

}  // namespace

void require_same_configuration(RankGroup& group, const ExperimentOptions& options) {
  Facts facts;
  for (auto& [path, value] : flat(dump_struct(options))) {
    if (!of_machine(path)) facts.emplace_back(std::move(path), std::move(value));
  }
  for (auto& [name, value] : build_labels()) {
    if (name == "version" || name == "revision" || name == "torch") {
      facts.emplace_back("the program's " + name, std::move(value));
    }
  }
  const std::string text = disagreement(group, facts);
  if (text.empty()) return;
  throw Error(ExitCode::config,
              "the ranks were told different things: " + text +
                  ": start all ranks of a job with the same program, file and overrides, and each "
                  "job with a MASTER_PORT of its own");
}

void require_same_data(RankGroup& group, Experiment& experiment) {
  if (group.size() == 1) return;
  Facts facts = facts_of(experiment.dataset());
  const DeviceInfo& device = experiment.device().info();
  facts.emplace_back("device", device.emulated
                                   ? "emulated"
                                   : c10::DeviceTypeName(device.torch_device.type(), true));
  const std::string text = disagreement(group, facts);
  if (text.empty()) return;
  throw Error(ExitCode::environment,
              "the ranks see different data or devices: " + text +
                  ": give every machine the same files and the same kind of device");
}

}  // namespace stoker

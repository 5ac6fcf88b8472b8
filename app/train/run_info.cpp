#include "app/train/run_info.h"

#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string>

#include "app/run/environment.h"
#include "io/storage/file_tree.h"

namespace stoker {
namespace {

// Which GPU NVML means, as it does not know CUDA_VISIBLE_DEVICES. Empty: none, or chosen by name.
std::optional<unsigned> nvml_index(const DeviceInfo& device) {
  if (!device.torch_device.is_cuda()) return std::nullopt;
  const auto index = static_cast<size_t>(std::max<int>(0, device.torch_device.index()));
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return static_cast<unsigned>(index);
  std::istringstream list(visible);
  std::string entry;
  for (size_t i = 0; i <= index; ++i) std::getline(list, entry, ',');
  unsigned chosen = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), chosen);
  const bool number = error == std::errc() && end == entry.data() + entry.size();
  return number ? std::optional(chosen) : std::nullopt;
}

}  // namespace

RunInfo run_info(Experiment& experiment, const RunDirectory& directory) {
  const ExperimentOptions& options = experiment.options();
  const DeviceInfo& device = experiment.device().info();
  RunInfo info;
  info.name = options.run.name;
  info.directory = directory.path();
  info.config_hash = config_hash(options);
  info.model = options.model.type();
  info.dataset = options.dataset.type();
  info.loader = options.loader.type();
  info.checkpoint = options.checkpoint.type();
  info.precision = Field<Precision>::dump(options.training.precision).scalar;
  info.device = device.name;
  info.timing_method = device.timing_method;
  info.emulated = device.emulated;
  info.gpu = nvml_index(device);
  info.build = build_labels();
  info.paths.push_back(directory.path());
  for (const auto& [name, tier] : options.storage) {
    if (const FileTree* files = experiment.tiers().at(name).files()) {
      info.paths.push_back(files->root());
    }
  }
  const LoaderInfo loader = options.loader.info();
  info.batch_size = loader.batch_size;
  info.loads_ahead = loader.works_ahead();
  info.rank = loader.rank;
  info.world_size = loader.world_size;
  info.started_unix_s = unix_now();
  return info;
}

}  // namespace stoker

#include "app/train/tensors.h"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "io/core/error.h"
#include "io/core/random.h"
#include "io/device/device.h"

namespace stoker {
namespace {

constexpr const char* kCpuGenerator = "rng.cpu";
constexpr const char* kCudaGenerator = "rng.cuda";

at::Generator generator(const std::string& name, at::Device device) {
  return at::globalContext().defaultGenerator(name == kCpuGenerator ? at::Device(at::kCPU)
                                                                    : device);
}

// The names of types in safetensors files.
constexpr std::array<std::pair<at::ScalarType, const char*>, 10> kTypes{{{at::kDouble, "F64"},
                                                                         {at::kFloat, "F32"},
                                                                         {at::kHalf, "F16"},
                                                                         {at::kBFloat16, "BF16"},
                                                                         {at::kLong, "I64"},
                                                                         {at::kInt, "I32"},
                                                                         {at::kShort, "I16"},
                                                                         {at::kChar, "I8"},
                                                                         {at::kByte, "U8"},
                                                                         {at::kBool, "BOOL"}}};

std::string dtype_name(at::ScalarType type) {
  for (const auto& [known, name] : kTypes) {
    if (known == type) return name;
  }
  throw Error(ExitCode::bug,
              std::string("a checkpoint cannot hold tensors of type ") + c10::toString(type));
}

TensorInfo info_of(const std::string& name, const at::Tensor& tensor) {
  return {name, dtype_name(tensor.scalar_type()), tensor.sizes().vec(), tensor.nbytes()};
}

[[noreturn]] void refuse(const LoadedState& loaded, const std::string& what) {
  throw Error(
      ExitCode::config,
      fmt::format("checkpoint {}: {}; it is that of another model or optimizer: resume with "
                  "the configuration in its {}",
                  loaded.path(), what, kManifestName));
}

}  // namespace

std::vector<at::Tensor> state_tensors(const TrainStep& step) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& item : step.model().state()) tensors.push_back(item.tensor);
  for (const OptimizerState& state : step.optimizer().state()) {
    tensors.insert(tensors.end(), state.tensors.begin(), state.tensors.end());
  }
  return tensors;
}

uint64_t state_digest(const std::vector<at::Tensor>& tensors) {
  uint64_t digest = 0;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor host = tensor.detach().cpu().contiguous();
    digest = mix(digest, XXH3_64bits(host.const_data_ptr(), host.nbytes()));
  }
  return digest;
}

TrainingTensors::TrainingTensors(const TrainStep& step, at::Device device) : device_(device) {
  std::vector<std::string> parameters;
  for (const NamedTensor& item : step.model().state()) {
    if (item.trained) parameters.push_back(item.name);
    entries_.push_back({"model." + item.name, item.tensor, !item.trained, item.trained});
  }
  for (const OptimizerState& state : step.optimizer().state()) {
    for (size_t i = 0; i < state.tensors.size(); ++i) {
      entries_.push_back({"optimizer." + parameters[i] + "." + state.name, state.tensors[i], false,
                          state.in_back_buffer});
    }
  }
  entries_.push_back({kCpuGenerator, {}, true});
  if (device_.is_cuda()) entries_.push_back({kCudaGenerator, {}, true});
}

at::Tensor TrainingTensors::current(const Entry& entry) const {
  if (entry.tensor.defined()) return entry.tensor.detach();
  at::Generator random = generator(entry.name, device_);
  const std::lock_guard lock(random.mutex());
  return random.get_state();
}

void TrainingTensors::put_back(const Entry& entry, const at::Tensor& value) const {
  if (entry.tensor.defined()) {
    entry.tensor.detach().copy_(value);
    return;
  }
  at::Generator random = generator(entry.name, device_);
  const std::lock_guard lock(random.mutex());
  random.set_state(value);
}

std::vector<TensorInfo> TrainingTensors::infos() const {
  std::vector<TensorInfo> infos;
  for (const Entry& entry : entries_) infos.push_back(info_of(entry.name, current(entry)));
  return infos;
}

void TrainingTensors::capture(TrainingState& state) const {
  const at::NoGradGuard no_grad;
  auto kept = std::make_shared<std::vector<at::Tensor>>();
  bool on_device = false;
  for (const Entry& entry : entries_) {
    at::Tensor tensor = current(entry);
    // A tensor that changes before the copy has ended is copied here. With a back buffer that is
    // also a tensor that the update changes in place.
    const bool stays = entry.changes_early || (moving_ && !entry.in_back_buffer);
    if (stays && entry.tensor.defined()) tensor = tensor.clone();
    tensor = tensor.contiguous();
    const bool host = tensor.device().is_cpu();
    on_device = on_device || !host;
    state.tensors.push_back(host ? static_cast<const uint8_t*>(tensor.const_data_ptr()) : nullptr);
    kept->push_back(std::move(tensor));
  }
  if (on_device) state.device = make_device_copies(device_, *kept);
  state.keep = std::move(kept);
}

std::unique_ptr<BackBuffer> TrainingTensors::back_buffer(const StatePlaces& places) {
  moving_ = true;
  auto back = std::make_unique<BackBuffer>(places.memory);
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].in_back_buffer) back->add(entries_[i].tensor, places.tensors[i]);
  }
  return back;
}

void TrainingTensors::restore(const Entry& entry, const LoadedState& loaded, size_t index,
                              int64_t threads) const {
  const at::Tensor own = current(entry);
  const bool in_place = entry.tensor.defined() && own.is_cpu() && own.is_contiguous();
  const at::Tensor value =
      in_place
          ? own
          : at::empty(own.sizes(),
                      own.options().device(at::kCPU).memory_format(at::MemoryFormat::Contiguous));
  loaded.copy(index, static_cast<uint8_t*>(value.mutable_data_ptr()), threads);
  if (!in_place) put_back(entry, value);
}

void TrainingTensors::restore(const LoadedState& loaded, int64_t threads) const {
  const at::NoGradGuard no_grad;
  std::map<std::string, size_t> there;
  for (size_t i = 0; i < loaded.tensors().size(); ++i) there[loaded.tensors()[i].name] = i;
  for (const Entry& entry : entries_) {
    // A run may go on on another kind of device; its generator then starts from the seed.
    if (entry.name == kCudaGenerator && !there.contains(entry.name)) continue;
    const TensorInfo own = info_of(entry.name, current(entry));
    const auto found = there.find(entry.name);
    if (found == there.end()) refuse(loaded, "it has no tensor " + entry.name);
    const TensorInfo& saved = loaded.tensors()[found->second];
    if (saved != own) {
      refuse(loaded, fmt::format("its tensor {} is {} {}, and {} {} is expected", entry.name,
                                 saved.dtype, saved.shape, own.dtype, own.shape));
    }
    restore(entry, loaded, found->second, threads);
    there.erase(found);
  }
  there.erase(kCudaGenerator);  // a run on the CPU has no use for it
  if (!there.empty()) refuse(loaded, "it has a tensor " + there.begin()->first + " too many");
}

}  // namespace stoker

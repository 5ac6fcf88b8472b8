#include "io/checkpoint/checkpointer.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/core/text/json.h"
#include "io/experiment/saving_options.h"
#include "io/metrics/hub.h"
#include "io/storage/metered.h"
#include "python/bindings/bindings.h"
#include "python/bindings/configuration.h"
#include "python/bindings/loader.h"
#include "python/bindings/released.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

using Tensor = nb::ndarray<nb::ro, nb::device::cpu>;
using Target = nb::ndarray<nb::device::cpu>;

// As safetensors spells it. Empty: a set cannot hold it.
std::string dtype_name(nb::dlpack::dtype type) {
  if (type.lanes != 1) return "";
  using Code = nb::dlpack::dtype_code;
  const std::string bits = std::to_string(type.bits);
  std::string name;
  switch (static_cast<Code>(type.code)) {
    case Code::Float:
      name = "F" + bits;
      break;
    case Code::Bfloat:
      name = "BF" + bits;
      break;
    case Code::Int:
      name = "I" + bits;
      break;
    case Code::UInt:
      name = "U" + bits;
      break;
    case Code::Bool:
      name = "BOOL";
      break;
    default:
      break;
  }
  return dtype_bytes(name) == 0 ? "" : name;
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ExitCode::config, fmt::format("tensor '{}': {}", name, why));
}

// In C order, as a set has it. Nothing is copied: a target that is a copy would stay as it was.
template <class Array>
TensorInfo info_of(const std::string& name, const Array& array) {
  TensorInfo info{name, dtype_name(array.dtype()), {}, array.nbytes()};
  if (info.dtype.empty()) refuse(name, "checkpoints have no such type of numbers");
  int64_t stride = 1;
  for (size_t i = array.ndim(); i-- > 0;) {
    const bool counts = array.shape(i) != 1 && array.size() > 0;
    if (counts && array.stride(i) != stride) refuse(name, "it must be contiguous, in C order");
    stride *= static_cast<int64_t>(array.shape(i));
  }
  for (size_t i = 0; i < array.ndim(); ++i) {
    info.shape.push_back(static_cast<int64_t>(array.shape(i)));
  }
  return info;
}

// stoker._core.LoadedSet: a set in memory, whose bytes were all verified.
class LoadedSet {
 public:
  explicit LoadedSet(LoadedState state, int64_t threads)
      : state_(std::move(state)), threads_(threads) {}
  int64_t step() const { return state_.step(); }
  std::string path() const { return state_.path(); }
  std::string values() const { return json_text(state_.training()); }
  // name, dtype, shape
  nb::list tensors() const {
    nb::list rows;
    for (const TensorInfo& info : state_.tensors()) {
      nb::list shape;
      for (const int64_t size : info.shape) shape.append(size);
      rows.append(nb::make_tuple(info.name, info.dtype, nb::tuple(shape)));
    }
    return rows;
  }
  void copy(size_t index, const Target& target) const {
    const TensorInfo& saved = state_.tensors().at(index);
    const TensorInfo info = info_of(saved.name, target);
    if (info.bytes != saved.bytes || info.dtype != saved.dtype) {
      refuse(saved.name, fmt::format("the set has {} bytes of {}, and the target {} of {}",
                                     saved.bytes, saved.dtype, info.bytes, info.dtype));
    }
    const Released without;
    state_.copy(index, static_cast<uint8_t*>(target.data()), threads_);
  }

 private:
  const LoadedState state_;
  const int64_t threads_;
};

// stoker._core.Checkpointer: saves states of the tensors that the first one has. In a forked child
// every method but close() is an Error. Waits without the GIL.
class CheckpointerHandle {
 public:
  CheckpointerHandle(nb::handle source, std::vector<std::string> overrides,
                     const std::vector<std::string>& names, const std::vector<Tensor>& tensors,
                     nb::object info, nb::object warn)
      : info_(std::move(info)),
        warn_(std::move(warn)),
        opened_(std::make_unique<Opened>().release()) {
    Opened& opened = *opened_;
    opened.options =
        read_saving_options(configuration(source), overrides, opened.warnings.notify());
    if (opened.options.checkpoint.info().snapshot == "swap") {
      throw Error(ExitCode::config,
                  "checkpoint.snapshot: swap needs optimizers that can write their update "
                  "elsewhere, and Python's can not: set checkpoint.snapshot=async");
    }
    for (size_t i = 0; i < names.size(); ++i) {
      opened.tensors.push_back(info_of(names[i], tensors[i]));
    }
    const Released without;
    for (const auto& [name, tier] : opened.options.storage) {
      opened.tiers.add(name, open_tier(tier, {name, opened.warnings.notify(), &opened.hub}));
    }
    opened.saver = opened.options.checkpoint.create(
        {opened.tiers, opened.options.run.name, opened.tensors,
         [](size_t bytes) { return allocate_huge(bytes, true); },
         [] { return std::optional<TimePoint>(); }, opened.notes.notify(), opened.warnings.notify(),
         &opened.hub.checkpoints()});
    opened.saver->finish_copy();
  }
  ~CheckpointerHandle() { close(); }
  CheckpointerHandle(const CheckpointerHandle&) = delete;
  CheckpointerHandle& operator=(const CheckpointerHandle&) = delete;

  // The newest intact set, as checkpoint.resume says.
  std::optional<LoadedSet> load() {
    Opened& now = opened();
    std::optional<LoadedState> state;
    {
      const Released without;
      state = now.saver->load();
    }
    tell(now);
    if (!state) return std::nullopt;
    return LoadedSet(std::move(*state), now.options.checkpoint.info().readers);
  }
  // Those of the constructor, in its order. True: the tensors must not change before
  // finish_copy().
  bool save(int64_t step, const std::vector<Tensor>& tensors, const std::string& values) {
    Opened& now = opened();
    finish_copy();
    TrainingState state;
    state.step = step;
    state.training = nlohmann::json::parse(values);
    if (tensors.size() != now.tensors.size()) {
      throw Error(ExitCode::config, "the tensors are not those of the first save");
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorInfo& first = now.tensors[i];
      if (info_of(first.name, tensors[i]) != first) {
        refuse(first.name,
               "its shape or type is not that of the first save: make another "
               "Checkpointer");
      }
      state.tensors.push_back(static_cast<const uint8_t*>(tensors[i].data()));
    }
    now.held = tensors;
    bool copying = false;
    {
      const Released without;
      copying = now.saver->save({.step = step}, [&] { return state; });
    }
    if (!copying) now.held.clear();
    tell(now);
    return copying;
  }
  void finish_copy() {
    Opened& now = opened();
    {
      const Released without;
      now.saver->finish_copy();
    }
    now.held.clear();
    tell(now);
  }
  // Error(ExitCode::storage) where a set is not on its last tier.
  void flush() {
    Opened& now = opened();
    finish_copy();
    CheckpointStatus status;
    bool complete = false;
    {
      const Released without;
      complete = now.saver->flush();
      status = now.saver->status();
    }
    tell(now);
    if (complete && !status.degraded) return;
    throw Error(ExitCode::storage,
                "checkpoints: " + (status.last_error.empty()
                                       ? std::string("not every set is on its last tier")
                                       : status.last_error));
  }
  nb::dict status() {
    Opened& now = opened();
    const CheckpointStatus status = now.saver->status();
    tell(now);
    nb::dict result;
    result["saved"] = status.saved;
    result["skipped"] = status.skipped;
    result["failed"] = status.failed;
    result["saved_step"] = status.saved_step;
    result["durable_step"] = status.durable_step;
    result["drains_left"] = status.drains_left;
    result["set_bytes"] = status.set_bytes;
    result["last_error"] = status.last_error;
    return result;
  }
  void close() {
    if (!opened_) return;
    const OwnedHere<Opened> opened = std::move(opened_);
    if (!process_.here()) return;
    {
      const Released without;
      opened->saver.reset();
    }
    tell(*opened);
  }

 private:
  struct Opened {
    Remarks notes, warnings;
    SavingOptions options;
    std::vector<TensorInfo> tensors;
    Hub hub;
    Tiers tiers;
    std::vector<Tensor> held;  // whose memory is being copied
    std::unique_ptr<Checkpointer> saver;
  };
  Opened& opened() const {
    process_.require("checkpointer");
    if (!opened_) throw Error(ExitCode::config, "this checkpointer is closed");
    return *opened_;
  }
  void tell(Opened& opened) const {
    opened.notes.tell(info_);
    opened.warnings.tell(warn_);
  }

  const OwnProcess process_;
  const nb::object info_, warn_;
  OwnedHere<Opened> opened_;
};

}  // namespace

void bind_checkpointer(nb::module_& module) {
  nb::class_<LoadedSet>(module, "LoadedSet")
      .def_prop_ro("step", &LoadedSet::step)
      .def_prop_ro("path", &LoadedSet::path)
      .def_prop_ro("values", &LoadedSet::values)
      .def_prop_ro("tensors", &LoadedSet::tensors)
      .def("copy", &LoadedSet::copy, nb::arg("index"), nb::arg("target").noconvert());
  nb::class_<CheckpointerHandle>(module, "Checkpointer")
      .def(nb::init<nb::handle, std::vector<std::string>, const std::vector<std::string>&,
                    const std::vector<Tensor>&, nb::object, nb::object>(),
           nb::arg("config"), nb::arg("overrides"), nb::arg("names"),
           nb::arg("tensors").noconvert(), nb::arg("info"), nb::arg("warn"))
      .def("load", &CheckpointerHandle::load)
      .def("save", &CheckpointerHandle::save, nb::arg("step"), nb::arg("tensors").noconvert(),
           nb::arg("values"))
      .def("finish_copy", &CheckpointerHandle::finish_copy)
      .def("flush", &CheckpointerHandle::flush)
      .def("status", &CheckpointerHandle::status)
      .def("close", &CheckpointerHandle::close);
}

}  // namespace stoker::python

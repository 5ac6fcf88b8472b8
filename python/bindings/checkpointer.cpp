#include "io/checkpoint/checkpointer.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/experiment/saving_options.h"
#include "io/metrics/hub.h"
#include "io/storage/tiers.h"
#include "python/bindings/configuration.h"
#include "python/bindings/loaded_set.h"
#include "python/bindings/loader.h"
#include "python/bindings/meetings.h"
#include "python/bindings/module.h"
#include "python/bindings/process.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

// stoker._core.Together: what the ranks of a training save together. A value.
struct Together {
  std::shared_ptr<Meetings> group;  // null: one process
  std::vector<TensorInfo> tensors;
  std::vector<TensorShare> shares;
  int64_t goes_on_from = -1;
};

// As Python has them: name, dtype, shape; and tensor, begin, bytes, rank.
using TensorRow = std::tuple<std::string, std::string, std::vector<int64_t>>;
using ShareRow = std::tuple<size_t, uint64_t, uint64_t, int64_t>;

Together together(std::shared_ptr<Meetings> group, const std::vector<TensorRow>& tensors,
                  const std::vector<ShareRow>& shares, int64_t goes_on_from) {
  Together all{std::move(group), {}, {}, goes_on_from};
  for (const auto& [name, dtype, shape] : tensors) {
    const std::optional<uint64_t> bytes = tensor_bytes(dtype, shape);
    if (!bytes) refuse_tensor(name, "checkpoints have no tensors of that type and shape");
    all.tensors.push_back({name, dtype, shape, *bytes});
  }
  for (const auto& [tensor, begin, bytes, process] : shares) {
    all.shares.push_back({tensor, begin, bytes, process});
  }
  return all;
}

// stoker._core.Checkpointer: saves states of the tensors that the first one has. In a forked child
// every method but close() is an Error. Waits without the GIL.
class CheckpointerHandle {
 public:
  CheckpointerHandle(nb::handle source, std::vector<std::string> overrides,
                     const std::vector<std::string>& names, const std::vector<Tensor>& tensors,
                     nb::object info, nb::object warn)
      : CheckpointerHandle(std::move(info), std::move(warn)) {
    Opened& opened = *opened_;
    for (size_t i = 0; i < names.size(); ++i) {
      opened.tensors.push_back(info_of(names[i], tensors[i]));
      opened.own.push_back({i, 0, opened.tensors.back().bytes, 0});
    }
    open(source, overrides, {}, std::nullopt);
  }
  // Of the tensors that all ranks have together.
  CheckpointerHandle(nb::handle source, std::vector<std::string> overrides, const Together& all,
                     nb::object info, nb::object warn)
      : CheckpointerHandle(std::move(info), std::move(warn)) {
    Opened& opened = *opened_;
    opened.group = all.group;
    opened.shared = true;
    opened.tensors = all.tensors;
    const int64_t rank = all.group ? all.group->rank() : 0;
    std::ranges::copy_if(all.shares, std::back_inserter(opened.own),
                         [&](const TensorShare& share) { return share.process == rank; });
    open(source, overrides, all.shares, all.goes_on_from);
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
  // Those of the constructor, or this rank's shares of them, in its order. part: beside `values`,
  // of this rank alone. True: the tensors must not change before finish_copy().
  // Where the step was saved before, this state takes the place of that one.
  bool save(int64_t step, const std::vector<Tensor>& tensors, const std::string& values,
            const std::string& part) {
    Opened& now = opened();
    if (values.size() + part.size() > kMaxTrainingBytes) {
      throw Error(ExitCode::config,
                  fmt::format("what is not a tensor takes {} bytes as text, and a checkpoint holds "
                              "at most {}: make tensors of large values",
                              values.size() + part.size(), kMaxTrainingBytes));
    }
    finish_copy();
    TrainingState state;
    state.step = step;
    state.training = nlohmann::json::parse(values);
    state.part = nlohmann::json::parse(part);
    point_to(tensors, now, state);
    now.held = tensors;
    bool copying = false;
    {
      const Released without;
      copying = now.saver->save({.step = step, .again = true}, [&] { return state; });
    }
    if (!copying) now.held.clear();
    tell(now);
    return copying;
  }
  // This rank has nothing to save of that step: no rank does then, and the next step is as any.
  void leave_out(int64_t step) {
    struct LeftOut {};
    Opened& now = opened();
    finish_copy();
    try {
      const Released without;
      now.saver->save({.step = step, .again = true}, []() -> TrainingState { throw LeftOut(); });
    } catch (const LeftOut&) {
      // It has told the others.
    }
    tell(now);
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
    result["hung"] = status.hung;
    result["saves_left"] = status.saves_left;
    result["last_error"] = status.last_error;
    return result;
  }
  // A thread that a tier keeps for ever is left behind, with all that it uses.
  void close() {
    if (!opened_) return;
    OwnedHere<Opened> opened = std::move(opened_);
    if (!process_.here()) return;
    {
      const Released without;
      if (opened->saver && opened->saver->status().hung) {
        static_cast<void>(opened.release());
        return;
      }
      opened->saver.reset();
    }
    tell(*opened);
  }

 private:
  struct Opened {
    Remarks notes, warnings;
    SavingOptions options;
    std::shared_ptr<Meetings> group;  // null: one process
    bool shared = false;              // made for stoker.dcp
    std::vector<TensorInfo> tensors;
    std::vector<TensorShare> own;  // of this process
    Hub hub;
    Tiers tiers;
    std::vector<Tensor> held;  // whose memory is being copied
    std::unique_ptr<Checkpointer> saver;
  };
  CheckpointerHandle(nb::object info, nb::object warn)
      : info_(std::move(info)),
        warn_(std::move(warn)),
        opened_(std::make_unique<Opened>().release()) {}

  void open(nb::handle source, std::vector<std::string> overrides,
            const std::vector<TensorShare>& shares, std::optional<int64_t> goes_on_from) {
    Opened& opened = *opened_;
    opened.options =
        read_saving_options(configuration(source), overrides, opened.warnings.notify());
    if (opened.options.checkpoint.info().snapshot == "swap") {
      throw Error(ExitCode::config,
                  "checkpoint.snapshot: swap needs optimizers that can write their update "
                  "elsewhere, and Python's can not: set checkpoint.snapshot=async");
    }
    const Released without;
    for (const auto& [name, tier] : opened.options.storage) {
      opened.tiers.add(name, open_tier(tier, {name, opened.warnings.notify(), &opened.hub}));
    }
    RankGroup& group = opened.group ? static_cast<RankGroup&>(*opened.group) : alone();
    opened.saver = opened.options.checkpoint.create(
        {opened.tiers, opened.options.run.name, opened.tensors,
         [](size_t bytes) { return allocate_huge(bytes, true); },
         [] { return std::optional<TimePoint>(); }, opened.notes.notify(), opened.warnings.notify(),
         &opened.hub.checkpoints(), group, nullptr, shares, goes_on_from});
    opened.saver->finish_copy();
  }
  static void point_to(const std::vector<Tensor>& tensors, const Opened& now,
                       TrainingState& state) {
    if (tensors.size() != now.own.size()) {
      throw Error(ExitCode::config, "the tensors are not those of the first save");
    }
    state.tensors.assign(now.tensors.size(), nullptr);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorShare& share = now.own[i];
      const TensorInfo& first = now.tensors[share.tensor];
      const TensorInfo info = info_of(first.name, tensors[i]);
      const bool whole = share.bytes == first.bytes;
      if (info.dtype != first.dtype || info.bytes != share.bytes ||
          (whole && info.shape != first.shape)) {
        refuse_tensor(first.name, "its shape or type is not that of the first save: make another " +
                                      std::string(now.shared ? "StorageWriter" : "Checkpointer"));
      }
      // Where the tensor would begin.
      const auto address = reinterpret_cast<uintptr_t>(tensors[i].data()) - share.begin;
      state.tensors[share.tensor] = reinterpret_cast<const uint8_t*>(address);
    }
  }

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
  nb::class_<Together>(module, "Together")
      .def(
          "__init__",
          [](Together* self, std::shared_ptr<Meetings> group, const std::vector<TensorRow>& tensors,
             const std::vector<ShareRow>& shares, int64_t goes_on_from) {
            new (self) Together(together(std::move(group), tensors, shares, goes_on_from));
          },
          nb::arg("group").none(), nb::arg("tensors"), nb::arg("shares"), nb::arg("goes_on_from"));
  nb::class_<CheckpointerHandle>(module, "Checkpointer")
      .def(nb::init<nb::handle, std::vector<std::string>, const std::vector<std::string>&,
                    const std::vector<Tensor>&, nb::object, nb::object>(),
           nb::arg("config"), nb::arg("overrides"), nb::arg("names"),
           nb::arg("tensors").noconvert(), nb::arg("info"), nb::arg("warn"))
      .def(
          nb::init<nb::handle, std::vector<std::string>, const Together&, nb::object, nb::object>(),
          nb::arg("config"), nb::arg("overrides"), nb::arg("together"), nb::arg("info"),
          nb::arg("warn"))
      .def("load", &CheckpointerHandle::load)
      .def("save", &CheckpointerHandle::save, nb::arg("step"), nb::arg("tensors").noconvert(),
           nb::arg("values"), nb::arg("part") = "null")
      .def("leave_out", &CheckpointerHandle::leave_out, nb::arg("step"))
      .def("finish_copy", &CheckpointerHandle::finish_copy)
      .def("flush", &CheckpointerHandle::flush)
      .def("status", &CheckpointerHandle::status)
      .def("close", &CheckpointerHandle::close);
}

}  // namespace stoker::python

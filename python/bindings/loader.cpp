#include "python/bindings/loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/core/text/text.h"
#include "io/core/threads.h"
#include "io/dataset/data_parts.h"
#include "io/experiment/experiment_data.h"
#include "io/loader/failure_budget.h"
#include "io/loader/sampler.h"
#include "python/bindings/arrays.h"
#include "python/bindings/configuration.h"
#include "python/bindings/module.h"
#include "python/bindings/process.h"

namespace nb = nanobind;

namespace stoker::python {

// How a batch comes to Python:
//
// 1. next() begins a task of the consumer's, which asks the loader, and waits without the GIL.
// 2. Where a signal's handler raises meanwhile (Ctrl-C), next() throws that at once. The task is
//    told to give up, and its result is kept.
// 3. The next next() takes that result, if it is a batch: none is lost. Else it begins anew.
// 4. Two threads may ask at the same time: whoever sees the result first takes it, and the other
//    one asks again.

void Remarks::add(const std::string& text) {
  const std::lock_guard lock(mutex_);
  texts_.push_back(text);
}

void Remarks::tell(nb::handle log) {
  std::vector<std::string> texts;
  {
    const std::lock_guard lock(mutex_);
    texts.swap(texts_);
  }
  for (const std::string& text : texts) log(text);
}

namespace {

Split split_of(const std::string& name) {
  if (name == "train") return Split::train;
  if (name == "test") return Split::test;
  throw Error(ExitCode::config, "split must be train or test, got '" + name + "'");
}

// Batches lie in the host's memory: Python copies them to its device.
DataOptions read_options(nb::handle source, const std::vector<std::string>& overrides,
                         Remarks& remarks) {
  Node root = configuration(source);
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  const Node* loader = root.find("loader");
  const Node* type = loader == nullptr ? nullptr : loader->find("type");
  if (type != nullptr && type->scalar == "device_prefetched") {
    apply_override(root, "loader.type=prefetched");
    remarks.add(
        "loader.type is prefetched here, and not device_prefetched: Python copies batches to "
        "its own device");
  }
  DataOptions options = read_data_tree(root, remarks.notify());
  require_pixels(options.decoder.info());
  return options;
}

FailureBudget budget_of(const LoaderHandle::Opened& opened) {
  return FailureBudget(opened.data->dataset().on_error().budget.of(opened.samples));
}

[[noreturn]] void throw_closed() { throw Error(ExitCode::config, "this loader is closed"); }

void check_shard(const Shard& shard) {
  if (shard.world >= 1 && shard.rank >= 0 && shard.rank < shard.world) return;
  throw Error(ExitCode::config, fmt::format("rank {} of {} ranks: rank must be from 0 to world - 1",
                                            shard.rank, shard.world));
}

}  // namespace

LoaderHandle::LoaderHandle(nb::handle source, const std::vector<std::string>& overrides,
                           const std::string& split, int64_t rank, int64_t world,
                           nb::object allocate, uint64_t may_hold, nb::object log)
    : log_(std::move(log)), opened_(std::make_unique<Opened>().release(), InOwnProcess()) {
  Opened& opened = *opened_;
  const LoaderUse use{.split = split_of(split),
                      .shard = {rank, world},
                      .allocate = allocator_of(std::move(allocate)),
                      .may_hold = may_hold};
  check_shard(use.shard);
  opened.shard = use.shard;
  opened.split = use.split;
  opened.options = read_options(source, overrides, opened.remarks);
  opened.consumer.run([&] {
    opened.data = std::make_unique<ExperimentData>(opened.options, opened.remarks.notify());
    opened.loader = opened.data->make_loader(use);
  });
  const Dataset& dataset = opened.data->dataset();
  opened.samples = dataset.size(use.split);
  opened.budget.emplace(budget_of(opened));
  opened.spec = opened.data->decoder().spec();
  opened.remarks.tell(log_);
}

LoaderHandle::~LoaderHandle() { close(); }

void LoaderHandle::close() {
  if (!opened_) return;
  const std::shared_ptr<Opened> opened = std::move(opened_);
  if (!process_.here()) return;
  opened->closed = true;
  opened->consumer.end();
  const Released without;
  opened->loader.reset();
  opened->data.reset();
}

const std::shared_ptr<LoaderHandle::Opened>& LoaderHandle::opened() const {
  process_.require("loader");
  if (!opened_) throw_closed();
  return opened_;
}

void LoaderHandle::start(int64_t epoch, int64_t batch) {
  check_place(epoch, batch);
  const std::shared_ptr<Opened> held = opened();
  Opened& now = *held;
  if (now.asked) now.consumer.end();
  const Place place{epoch, batch};
  if (now.asked || now.place != place) now.moved = true;
  now.asked = false;
  now.result = {};
  now.place = place;
}

// The consumer's.
void LoaderHandle::ask(Opened& opened) {
  try {
    if (opened.moved) opened.loader->start(opened.place.epoch, opened.place.batch);
    opened.moved = false;
    opened.result = opened.loader->next();
  } catch (...) {
    opened.moved = true;
    opened.result = std::current_exception();
  }
}

std::optional<Batch> LoaderHandle::take(Opened& opened, int64_t epoch) {
  while (true) {
    if (opened.closed) throw_closed();
    if (opened.place.epoch != epoch) return std::nullopt;
    if (!opened.asked) {
      opened.consumer.begin([&opened] { ask(opened); });
      opened.asked = true;
    }
    opened.consumer.await();
    if (!opened.asked || opened.consumer.busy()) continue;
    opened.asked = false;
    auto result = std::exchange(opened.result, {});
    if (auto* const batch = std::get_if<std::optional<Batch>>(&result)) {
      opened.place = *batch ? Place{epoch, (*batch)->index + 1} : Place{epoch + 1, 0};
      return std::move(*batch);
    }
    try {
      std::rethrow_exception(std::get<std::exception_ptr>(result));
    } catch (const Interrupted&) {  // told so by an earlier signal, or by close()
    }
  }
}

nb::object LoaderHandle::next(int64_t epoch) {
  const std::shared_ptr<Opened> now = opened();
  std::optional<Batch> batch = take(*now, epoch);
  now->remarks.tell(log_);
  if (!batch) return nb::none();
  now->budget->account(*batch);
  return nb::cast(BatchHandle{std::move(*batch), now->spec});
}

std::string LoaderHandle::failures() const { return to_json(opened()->budget->counts()).dump(); }

void LoaderHandle::resume(const std::string& failures) {
  FailureCounts earlier;
  try {
    earlier = failure_counts(nlohmann::json::parse(failures));
  } catch (const nlohmann::json::exception& error) {
    throw Error(
        ExitCode::config,
        std::string("the loader's state: its counts of bad samples are not ours: ") + error.what());
  }
  const std::shared_ptr<Opened> now = opened();
  now->budget.emplace(budget_of(*now)).resume(std::move(earlier));
}

const BatchIdentity& LoaderHandle::known_identity() const {
  Opened& now = *opened();
  if (!now.identity) {
    const Released without;
    BatchIdentity found = batch_identity(now.options, now.data->dataset(), now.split, now.shard);
    now.identity.emplace(std::move(found));
  }
  return *now.identity;
}

std::string LoaderHandle::identity() const { return nlohmann::json(known_identity()).dump(); }

void LoaderHandle::check(const std::string& state, bool within) {
  BatchIdentity before;
  try {
    before = nlohmann::json::parse(state).get<BatchIdentity>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(
        ExitCode::config,
        std::string("the loader's state: its record of the batches is not ours: ") + error.what());
  }
  const BatchDifferences found = compare(before, known_identity());
  const std::string others = fmt::format("{}", fmt::join(found.batches, "; "));
  if (!others.empty() && within) {
    throw Error(ExitCode::config,
                fmt::format("the loader's state is that of other batches: {}: it can go on only "
                            "from the begin of an epoch, or with the loader that it is of",
                            others));
  }
  Remarks& remarks = opened()->remarks;
  if (!others.empty()) remarks.add("the loader's state is that of other batches: " + others);
  for (const std::string& source : found.sources) {
    remarks.add("the loader's state is that of other files or another decoder: " + source);
  }
  remarks.tell(log_);
}

namespace {

// How of_folder() takes a folder: the part that trains, the part that tests, and the parts to test
// on that have no classes. Error(ExitCode::environment), in the words of who calls it.
nb::tuple folder_parts(const std::filesystem::path& root) {
  const ImageParts parts = [&] {
    const Released without;
    return image_parts(root);
  }();
  if (parts.folders.empty()) {
    throw Error(
        ExitCode::environment,
        fmt::format("{} holds {}, and no folder of images for each class: of_folder() takes "
                    "ROOT/CLASS/image.jpg, as ImageFolder does",
                    to_text(root.string()), parts.loose ? "images without classes" : "no images"));
  }
  return nb::make_tuple(parts.train, parts.test, parts.unlabelled);
}

}  // namespace

void bind_loader(nb::module_& module) {
  bind_batch(module);
  module.def("folder_parts", folder_parts, nb::arg("root"));
  nb::class_<LoaderHandle>(module, "Loader")
      .def(nb::init<nb::handle, const std::vector<std::string>&, const std::string&, int64_t,
                    int64_t, nb::object, uint64_t, nb::object>(),
           nb::arg("config"), nb::arg("overrides"), nb::arg("split"), nb::arg("rank"),
           nb::arg("world"), nb::arg("allocate").none(), nb::arg("may_hold"), nb::arg("log"))
      .def("start", &LoaderHandle::start, nb::arg("epoch"), nb::arg("batch"))
      .def("next", &LoaderHandle::next, nb::arg("epoch"))
      .def("failures", &LoaderHandle::failures)
      .def("resume", &LoaderHandle::resume, nb::arg("failures"))
      .def("identity", &LoaderHandle::identity)
      .def("check", &LoaderHandle::check, nb::arg("state"), nb::arg("within"))
      .def("close", &LoaderHandle::close)
      .def_prop_ro("place",
                   [](const LoaderHandle& self) {
                     const auto& place = self.opened()->place;
                     return std::pair(place.epoch, place.batch);
                   })
      .def_prop_ro("batches",
                   [](const LoaderHandle& self) { return self.opened()->loader->batches(); })
      .def_prop_ro("samples", [](const LoaderHandle& self) { return self.opened()->samples; })
      .def_prop_ro(
          "batch_size",
          [](const LoaderHandle& self) { return self.opened()->options.loader.info().batch_size; })
      .def_prop_ro(
          "classes",
          [](const LoaderHandle& self) { return self.opened()->data->dataset().classes(); })
      .def("yaml", [](const LoaderHandle& self) {
        return to_yaml(dump_struct(self.opened()->options)) + "\n";
      });
}

}  // namespace stoker::python

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/restoring/locate.h"
#include "io/checkpoint/sets/set_store.h"
#include "io/experiment/saving_options.h"
#include "io/metrics/hub.h"
#include "io/storage/tiers.h"
#include "python/bindings/configuration.h"
#include "python/bindings/loaded_set.h"
#include "python/bindings/loader.h"
#include "python/bindings/module.h"
#include "python/bindings/process.h"

namespace fs = std::filesystem;
namespace nb = nanobind;

namespace stoker::python {
namespace {

// Where sets are, for readers. What a set was read from lives as long as the set.
struct Places {
  Remarks warnings;
  SavingOptions options;
  Hub hub;
  Tiers tiers;
  std::unique_ptr<FileTree> tree;  // of a set that was named by its path
  std::vector<std::unique_ptr<SetStore>> stores;
};

// All directories of a tier with sets of the run: its own, and those of the ranks.
void add_stores(Places& places, const std::string& tier, const std::string& directory) {
  Storage& storage = places.tiers.at(tier);
  places.stores.push_back(sets_on(tier, storage, directory));
  const FileTree* const tree = files_of(storage);
  if (tree == nullptr) return;
  for (const std::string& name : tree->list(directory)) {
    if (rank_of(name) < 0) continue;
    places.stores.push_back(std::make_unique<SetStore>(tier, *tree, directory + "/" + name));
  }
}

// The set of a step, of which no file is read yet. Error where there is none, or only a part.
LoadedSet open_set(const std::shared_ptr<Places>& places, int64_t step, int64_t threads) {
  std::vector<SetStore*> stores;
  for (const auto& store : places->stores) stores.push_back(store.get());
  Collective collective(alone(), "read", [] { return true; });
  std::string why;
  const std::optional<LocatedSet> located = locate(
      collective, stores, step, [](size_t) { return true; },
      [&](size_t, const Error& error) { why = error.what(); });
  if (!located) {
    throw Error(ExitCode::storage, why.empty()
                                       ? fmt::format("there is no checkpoint of step {} in {}",
                                                     step, stores.front()->full_directory())
                                       : why);
  }
  const SetStore& first = *stores.at(located->files.front().store);
  return {LoadedState(located->manifest, first.full_path(step)), threads,
          [places, step, threads, sources = located->files](LoadedState& state,
                                                            const std::vector<size_t>& files) {
            for (size_t i = 0; i < places->stores.size(); ++i) {
              std::vector<size_t> here;
              for (const size_t file : files) {
                if (sources.at(file).store == i) here.push_back(file);
              }
              const SetStore& store = *places->stores[i];
              if (!here.empty()) state.read(store.files(), store.path(step), here, threads);
            }
          }};
}

// stoker._core.Sets: the sets that a configuration saves, for reading. Takes no lock and changes
// nothing.
class Sets {
 public:
  Sets(nb::handle source, std::vector<std::string> overrides, nb::object warn)
      : warn_(std::move(warn)), places_(std::make_shared<Places>()) {
    Places& places = *places_;
    places.options =
        read_saving_options(configuration(source), overrides, places.warnings.notify());
    tell();
  }
  CheckpointerInfo info() const { return places_->options.checkpoint.info(); }
  std::vector<int64_t> steps() {
    const std::shared_ptr<Places> places = opened();
    std::set<int64_t> steps;
    {
      const Released without;
      for (const auto& store : places->stores) {
        for (const int64_t step : store->steps()) steps.insert(step);
      }
    }
    return {steps.begin(), steps.end()};
  }
  LoadedSet open(int64_t step) {
    const std::shared_ptr<Places> places = opened();
    const Released without;
    return open_set(places, step, info().readers);
  }

 private:
  // Anew, as ranks and tiers come and go.
  std::shared_ptr<Places> opened() {
    auto places = std::make_shared<Places>();
    places->options = places_->options;
    {
      const Released without;
      const CheckpointerInfo info = this->info();
      for (const auto& [name, tier] : places->options.storage) {
        places->tiers.add(name, open_tier(tier, {name, places->warnings.notify(), &places->hub}));
      }
      for (const std::string& tier : info.tiers) {
        add_stores(*places, tier,
                   info.directory.empty() ? places->options.run.name : info.directory);
      }
    }
    places_ = places;
    tell();
    return places;
  }
  void tell() { places_->warnings.tell(warn_); }

  const nb::object warn_;
  std::shared_ptr<Places> places_;
};

// The one at a path, whatever run it is of.
LoadedSet open_path(const std::string& path, int64_t threads) {
  const Released without;
  const fs::path set = fs::weakly_canonical(fs::path(path));
  const int64_t step = step_of(set.filename().string());
  if (step < 0 || !fs::is_directory(set)) {
    throw Error(ExitCode::environment,
                fmt::format("{} is no checkpoint: give the path of a step-... directory", path));
  }
  auto places = std::make_shared<Places>();
  places->tree = std::make_unique<FileTree>(set.parent_path().parent_path().string());
  places->stores.push_back(
      std::make_unique<SetStore>("", *places->tree, set.parent_path().filename().string()));
  return open_set(places, step, threads);
}

}  // namespace

void bind_sets(nb::module_& module) {
  nb::class_<LoadedSet>(module, "LoadedSet")
      .def_prop_ro("step", &LoadedSet::step)
      .def_prop_ro("path", &LoadedSet::path)
      .def_prop_ro("values", &LoadedSet::values)
      .def_prop_ro("tensors", &LoadedSet::tensors)
      .def_prop_ro("files", &LoadedSet::files)
      .def("read", &LoadedSet::read, nb::arg("files"))
      .def("copy", &LoadedSet::copy, nb::arg("index"), nb::arg("target").noconvert(),
           nb::arg("begin") = 0);
  nb::class_<Sets>(module, "Sets")
      .def(nb::init<nb::handle, std::vector<std::string>, nb::object>(), nb::arg("config"),
           nb::arg("overrides"), nb::arg("warn"))
      .def_prop_ro("snapshot", [](const Sets& sets) { return sets.info().snapshot; })
      .def_prop_ro("hang_seconds", [](const Sets& sets) { return sets.info().hang_seconds; })
      .def("steps", &Sets::steps)
      .def("open", &Sets::open, nb::arg("step"));
  module.def("open_set", &open_path, nb::arg("path"), nb::arg("threads") = 1);
}

}  // namespace stoker::python

#include "app/tools/checkpoint/listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "io/checkpoint/restoring/read_bundle.h"
#include "io/checkpoint/sets/set_store.h"
#include "io/experiment/saving_options.h"

namespace stoker {
namespace {

// One entry of a checkpoint directory. A value.
struct SetRow {
  std::string tier;
  std::string name;  // from the tier's root
  std::string path;
  std::optional<int64_t> step;  // absent: not a set under its name
  // "committed", "on this tier only" (not drained), "damaged" and "superseded" (set aside by a
  // resume), "unreadable" (its manifest is damaged), "unfinished" (left by a killed process),
  // "removed" (while it was verified)
  std::string state;
  std::string created;  // UTC; empty where the manifest is unreadable
  std::optional<double> age_s;
  uint64_t bytes = 0;
};

// The checkpoints that `where` refers to: a configuration, a directory with step-... in it, or one
// set. Reads only. One thread at a time.
class CheckpointSets {
 public:
  // Error(ExitCode::config) where the configuration saves no checkpoints; ExitCode::environment
  // where `where` is neither.
  CheckpointSets(const std::string& where, const std::vector<std::string>& overrides);

  std::vector<SetRow> list() const;
  // Where list() has looked, and where else on these tiers sets lie; for a message.
  std::string where() const;
  // Reads every byte of a committed set. Empty: it is intact; else file, tensor and offset of the
  // damage. Absent: somebody has removed the set, or set it aside, meanwhile.
  std::optional<std::string> verify(const SetRow& entry) const;

 private:
  struct Place {
    std::unique_ptr<SetStore> store;
    std::optional<int64_t> only = {};  // one set of it
    bool part = false;                 // one rank's part of each set
  };
  void add_config(const std::string& file, const std::vector<std::string>& overrides);
  // A directory of sets, and those in it where each of many ranks keeps its part of them.
  void add_places(const std::string& tier, const FileTree& tree, const std::string& directory);
  void add_directory(const std::string& directory);
  bool elsewhere(const Place& place, int64_t step) const;
  SetRow describe(const Place& place, const SetEntry& set) const;

  Tiers tiers_;
  std::vector<std::unique_ptr<FileTree>> trees_;
  std::vector<Place> places_;
  bool drains_ = false;
};

namespace fs = std::filesystem;

constexpr int64_t kThreads = 2;

// Absent: it cannot be known, as after the clock was set back.
std::optional<double> age_of(const std::string& created) {
  std::tm time{};
  if (strptime(created.c_str(), "%Y-%m-%dT%H:%M:%S", &time) == nullptr) return std::nullopt;
  const auto then = std::chrono::system_clock::from_time_t(timegm(&time));
  const size_t point = created.rfind('.');
  const double fraction =
      point == std::string::npos ? 0 : std::strtod(created.c_str() + point, nullptr);
  const double age =
      std::chrono::duration<double>(std::chrono::system_clock::now() - then).count() - fraction;
  return age < 0 ? std::nullopt : std::optional(age);
}

uint64_t bytes_below(const std::string& path) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const uint64_t size = entry.file_size(error);
    if (!error) bytes += size;
  }
  return bytes;
}

CheckpointSets::CheckpointSets(const std::string& where,
                               const std::vector<std::string>& overrides) {
  std::error_code error;
  if (fs::is_directory(where, error)) {
    add_directory(where);
  } else {
    add_config(where, overrides);
  }
}

void CheckpointSets::add_config(const std::string& file,
                                const std::vector<std::string>& overrides) {
  const SavingOptions options =
      read_saving_options(load_experiment(file, overrides), {}, print_note);
  const CheckpointerInfo checkpoint = options.checkpoint.info();
  const std::string directory =
      checkpoint.directory.empty() ? options.run.name : checkpoint.directory;
  for (const std::string& tier : checkpoint.tiers) {
    tiers_.add(tier, options.storage.at(tier).create({tier, {}}));
    Storage& storage = tiers_.at(tier);
    if (const FileTree* tree = files_of(storage)) {
      add_places(tier, *tree, directory);
    } else {
      places_.push_back({sets_on(tier, storage, directory)});
    }
  }
  drains_ = checkpoint.tiers.size() > 1;
}

void CheckpointSets::add_places(const std::string& tier, const FileTree& tree,
                                const std::string& directory) {
  places_.push_back({std::make_unique<SetStore>(tier, tree, directory)});
  for (const std::string& name : tree.list(directory)) {
    if (rank_of(name) < 0) continue;
    const std::string part = fmt::format("{}/{}", directory, name);
    places_.push_back({std::make_unique<SetStore>(tier, tree, part), {}, true});
  }
}

void CheckpointSets::add_directory(const std::string& directory) {
  const fs::path path = fs::canonical(directory);
  const bool one = fs::exists(path / kManifestName);
  const fs::path sets = one ? path.parent_path() : path;
  trees_.push_back(std::make_unique<FileTree>(sets.parent_path().string()));
  const int64_t step = one ? step_of(path.filename().string()) : 0;
  if (one && step < 0) {
    throw Error(ExitCode::environment, directory + ": no checkpoint has such a name");
  }
  if (one) {
    places_.push_back(
        {std::make_unique<SetStore>("-", *trees_.back(), sets.filename().string()), step});
  } else {
    add_places("-", *trees_.back(), sets.filename().string());
  }
}

bool CheckpointSets::elsewhere(const Place& place, int64_t step) const {
  return std::any_of(places_.begin(), places_.end(), [&](const Place& other) {
    return other.store->tier() != place.store->tier() && other.store->has(step);
  });
}

SetRow CheckpointSets::describe(const Place& place, const SetEntry& set) const {
  const SetStore& store = *place.store;
  SetRow row;
  row.tier = store.tier();
  row.name = store.directory() + "/" + set.name;
  row.path = store.files().full(row.name);
  row.bytes = store.files().tree() != nullptr ? bytes_below(row.path) : set.bytes;
  row.state = set.state;
  if (set.step < 0) return row;
  row.step = set.step;
  try {
    row.created = read_manifest(store.files(), row.name).created;
    row.age_s = age_of(row.created);
    if (drains_ && !elsewhere(place, set.step)) row.state = "on this tier only";
  } catch (const Error&) {
    row.state = "unreadable";
  }
  return row;
}

std::vector<SetRow> CheckpointSets::list() const {
  std::vector<SetRow> rows;
  for (const Place& place : places_) {
    for (const SetEntry& set : place.store->files().entries(place.store->directory())) {
      if (place.only && set.step != *place.only) continue;
      SetRow row = describe(place, set);
      // A run beside this may have removed it.
      if (row.state == "unreadable" && !place.store->has(set.step)) continue;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// Names of the folders beside this one in which checkpoints lie.
std::vector<std::string> neighbours(const fs::path& directory) {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory.parent_path(), error)) {
    if (!entry.is_directory(error) || entry.path() == directory) continue;
    const fs::directory_iterator inside(entry.path(), error);
    const bool some = std::any_of(inside, fs::directory_iterator(), [](const auto& set) {
      return step_of(set.path().filename().string()) >= 0;
    });
    if (some) found.push_back(entry.path().filename().string());
  }
  return found;
}

std::string CheckpointSets::where() const {
  std::string text;
  std::set<std::string> others;
  for (const Place& place : places_) {
    const SetStore& store = *place.store;
    text += (text.empty() ? "" : ", ") + store.full_directory();
    if (store.files().tree() == nullptr || place.part || store.tier() == "-") continue;
    const fs::path above = fs::path(store.directory()).parent_path();
    for (const std::string& name : neighbours(store.full_directory())) {
      others.insert((above / name).string());
    }
  }
  if (others.empty()) return text;
  return fmt::format("{}; there are some in {}: give checkpoint.directory={}", text,
                     some_of({others.begin(), others.end()}), *others.begin());
}

std::optional<std::string> CheckpointSets::verify(const SetRow& row) const {
  for (const Place& place : places_) {
    const SetFiles& files = place.store->files();
    const bool here = row.name.substr(0, row.name.rfind('/')) == place.store->directory();
    if (!here || files.full(row.name) != row.path) continue;
    try {
      const Manifest manifest = read_manifest(files, row.name);
      if (place.part) {
        read_files(files, row.name, manifest, files_here(files, row.name, manifest), kThreads, {});
      } else {
        read_set(files, row.name, manifest, kThreads, {});
      }
      if (manifest.step == *row.step) return "";
      return fmt::format("{}: its manifest is that of step {}", row.path, manifest.step);
    } catch (const Error& error) {
      if (!place.store->has(*row.step)) return std::nullopt;
      return error.what();
    }
  }
  return "";
}

std::string age_text(const SetRow& entry) {
  if (!entry.age_s) return "-";
  const auto s = static_cast<int64_t>(*entry.age_s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 48 * 3600) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d", s / 86400);
}

ResultTable new_table() {
  return ResultTable({{"tier", "tier"},
                      {"step", "step"},
                      {"", "state"},
                      {"", "age"},
                      {"", "size"},
                      {"path", "path"},
                      {"state", ""},
                      {"bytes", ""},
                      {"created", ""},
                      {"age_s", ""},
                      {"intact", ""},
                      {"damage", ""}});
}

// damage: what a verification found. Empty text: the set is intact. Absent: it was not verified.
std::vector<ResultTable::Cell> row(const SetRow& entry,
                                   const std::optional<std::string>& damage = {}) {
  using Cell = ResultTable::Cell;
  const std::string verified = damage && damage->empty() ? "intact" : "DAMAGED";
  return {entry.tier,
          entry.step ? Cell(*entry.step) : Cell(),
          damage ? verified : entry.state,
          age_text(entry),
          fmt::format("{:.1f} MB", 1e-6 * static_cast<double>(entry.bytes)),
          entry.path,
          entry.state,
          static_cast<int64_t>(entry.bytes),
          entry.created.empty() ? Cell() : Cell(entry.created),
          entry.age_s,
          damage ? Cell(damage->empty()) : Cell(),
          damage && !damage->empty() ? Cell(*damage) : Cell()};
}

}  // namespace

ExitCode list_checkpoints(const CheckpointArguments& arguments) {
  if (const auto prefix = bundle_prefix(arguments.config)) {
    return list_bundle(*prefix, false, arguments.json);
  }
  ResultTable table = new_table();
  const CheckpointSets sets(arguments.config, arguments.overrides);
  const std::vector<SetRow> rows = sets.list();
  for (const SetRow& entry : rows) table.add(row(entry));
  return print_result(
      arguments.json, table.json(),
      rows.empty() ? fmt::format("no checkpoint in {}\n", sets.where()) : table.text(), 2);
}

ExitCode verify_checkpoints(const CheckpointArguments& arguments) {
  if (const auto prefix = bundle_prefix(arguments.config)) {
    return list_bundle(*prefix, true, arguments.json);
  }
  const CheckpointSets sets(arguments.config, arguments.overrides);
  std::vector<SetRow> chosen = sets.list();
  std::erase_if(chosen, [](const SetRow& entry) { return !entry.step; });
  int64_t newest = -1;
  for (const SetRow& entry : chosen) newest = std::max(newest, *entry.step);
  if (!arguments.all) {
    std::erase_if(chosen, [&](const SetRow& entry) { return *entry.step != newest; });
  }
  if (chosen.empty()) throw Error(ExitCode::environment, "no checkpoint in " + sets.where());
  ExitCode result = ExitCode::ok;
  ResultTable table = new_table();
  for (SetRow& entry : chosen) {
    const std::optional<std::string> damage = sets.verify(entry);
    if (!damage) entry.state = "removed";
    table.add(row(entry, damage));
    if (!damage || damage->empty()) continue;
    result = ExitCode::storage;
    table.note(*damage);
  }
  print_result(arguments.json, table.json(), table.text(), 2);
  return result;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnd = ".index";

// A slice's key is no text, but begins with a zero.
std::string shown_name(const BundleTensor& tensor) {
  return tensor.name.starts_with('\0') ? "(slice)" : tensor.name;
}

}  // namespace

std::optional<std::string> bundle_prefix(const std::string& where) {
  std::error_code error;
  const std::string prefix =
      where.ends_with(kEnd) ? where.substr(0, where.size() - kEnd.size()) : where;
  if (!fs::is_regular_file(prefix + std::string(kEnd), error)) return std::nullopt;
  return prefix;
}

ExitCode list_bundle(const std::string& prefix, bool verify, bool json) {
  const fs::path path = fs::absolute(prefix);
  const std::string name = path.filename().string();
  const FileTree tree(path.parent_path().string());
  const BundleFiles files(tree, name);
  const TensorBundle bundle = files.index();
  ResultTable table({{"tensor", "tensor"},
                     {"dtype", "type"},
                     {"shape", "shape"},
                     {"bytes", "bytes"},
                     {"file", "file"},
                     {"intact", verify ? "intact" : ""}});
  ExitCode result = ExitCode::ok;
  for (const BundleTensor& tensor : bundle.tensors) {
    const std::string damage = verify ? files.damage(tensor, bundle.files) : "";
    table.add({shown_name(tensor), tensor.dtype, fmt::format("{}", tensor.shape),
               static_cast<int64_t>(tensor.bytes),
               tensor.sliced ? "in slices" : bundle_data_name(name, tensor.file, bundle.files),
               verify && !tensor.sliced ? ResultTable::Cell(damage.empty()) : ResultTable::Cell()});
    if (damage.empty()) continue;
    result = ExitCode::storage;
    table.note(damage);
  }
  print_result(json, table.json(), table.text(), 2);
  return result;
}

}  // namespace stoker

#include "io/checkpoint/restoring/locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/core/digest.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

// What a process sees of a set: on which store, of which manifest, and which of its files.
struct Holding {
  int64_t rank = 0;
  size_t store = 0;
  std::string manifest;  // a digest
  std::vector<std::string> names;
  std::vector<size_t> here;
};

Json to_json(const Holding& holding) {
  return {holding.store, holding.manifest, holding.names, holding.here};
}

Holding holding_of(int64_t rank, const Json& json) {
  return {rank, json.at(0), json.at(1), json.at(2), json.at(3)};
}

// The sources of all files; where some have none, their names.
std::vector<LocatedSet::Source> sources(const std::vector<Holding>& holdings,
                                        const std::string& manifest,
                                        std::vector<std::string>& missing) {
  std::vector<std::vector<LocatedSet::Source>> candidates;
  std::vector<std::string> names;
  for (const Holding& holding : holdings) {
    if (holding.manifest != manifest) continue;
    names = holding.names;
    candidates.resize(names.size());
    for (const size_t file : holding.here) {
      std::vector<LocatedSet::Source>& those = candidates.at(file);
      if (!those.empty() && holding.store < those.front().store) those.clear();
      if (those.empty() || holding.store == those.front().store) {
        those.push_back({holding.rank, holding.store});
      }
    }
  }
  std::vector<LocatedSet::Source> sources;
  missing.clear();
  for (size_t file = 0; file < candidates.size(); ++file) {
    if (candidates[file].empty()) {
      missing.push_back(names[file]);
    } else {
      sources.push_back(candidates[file][file % candidates[file].size()]);
    }
  }
  return sources;
}

}  // namespace

std::vector<size_t> LocatedSet::files_of(int64_t rank, std::optional<size_t> store) const {
  std::vector<size_t> own;
  for (size_t file = 0; file < files.size(); ++file) {
    const Source& source = files[file];
    if (source.rank == rank && source.store == store.value_or(source.store)) own.push_back(file);
  }
  return own;
}

std::optional<LocatedSet> locate(
    Collective& collective, const std::vector<SetStore*>& stores, int64_t step,
    const std::function<bool(size_t store)>& use,
    const std::function<void(size_t store, const Error& error)>& refused) {
  std::map<std::string, Manifest> own;
  const auto look = [&] {
    Json seen = Json::array();
    for (size_t i = 0; i < stores.size(); ++i) {
      try {
        const SetStore& store = *stores[i];
        if (!use(i) || !store.has(step)) continue;
        Manifest manifest = store.manifest(step);
        if (manifest.step != step) {
          throw DamagedSet(fmt::format("{}: its manifest is that of step {}", store.full_path(step),
                                       manifest.step));
        }
        Holding holding{0, i, xxh3_128(manifest_text(manifest)), {}, {}};
        holding.here = files_here(store.files(), store.path(step), manifest);
        for (const FileSums& file : manifest.files) holding.names.push_back(file.name);
        seen.push_back(to_json(holding));
        own.emplace(holding.manifest, std::move(manifest));
      } catch (const Error& error) {
        refused(i, error);
      }
    }
    return json_text(seen);
  };
  std::vector<Holding> holdings;
  const std::vector<std::string> said =
      collective.all(fmt::format("who has what of step {}", step), look);
  for (size_t rank = 0; rank < said.size(); ++rank) {
    for (const Json& each : parse_json(said[rank])) {
      holdings.push_back(holding_of(static_cast<int64_t>(rank), each));
    }
  }
  if (holdings.empty()) return std::nullopt;
  std::ranges::stable_sort(holdings, {}, &Holding::store);
  std::vector<std::string> missing;
  for (const Holding& holding : holdings) {
    std::vector<LocatedSet::Source> found = sources(holdings, holding.manifest, missing);
    if (!missing.empty()) continue;
    const std::vector<std::string> texts =
        collective.all(fmt::format("the manifest of step {}", step), [&] {
          const bool speaks = holding.rank == collective.group().rank();
          return speaks && said.size() > 1 ? manifest_text(own.at(holding.manifest)) : "";
        });
    const auto mine = own.find(holding.manifest);
    return LocatedSet{
        mine != own.end() ? mine->second : parse_manifest(texts[static_cast<size_t>(holding.rank)]),
        std::move(found)};
  }
  throw NoRetry(
      ExitCode::storage,
      fmt::format("the set of step {} is not whole: {} {} on no tier that a rank sees", step,
                  missing.front(),
                  missing.size() == 1 ? std::string("is")
                                      : fmt::format("and {} more are", missing.size() - 1)));
}

}  // namespace stoker

#include "app/train/checkpoint_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "app/train/checkpoint_sets.h"

namespace stoker {
namespace {

std::string age_text(const SetEntry& entry) {
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

// damage: of a verified set; empty: it is intact.
std::vector<ResultTable::Cell> row(const SetEntry& entry,
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

void print(const ResultTable& table, bool json) {
  fmt::print("{}", json ? table.json().dump(2) + "\n" : table.text());
}

}  // namespace

ExitCode list_checkpoints(const CheckpointArguments& arguments) {
  ResultTable table = new_table();
  for (const SetEntry& entry : CheckpointSets(arguments.config, arguments.overrides).list()) {
    table.add(row(entry));
  }
  print(table, arguments.json);
  return ExitCode::ok;
}

ExitCode verify_checkpoints(const CheckpointArguments& arguments) {
  const CheckpointSets sets(arguments.config, arguments.overrides);
  std::vector<SetEntry> chosen = sets.list();
  std::erase_if(chosen, [](const SetEntry& entry) { return !entry.step; });
  int64_t newest = -1;
  for (const SetEntry& entry : chosen) newest = std::max(newest, *entry.step);
  if (!arguments.all) {
    std::erase_if(chosen, [&](const SetEntry& entry) { return *entry.step != newest; });
  }
  if (chosen.empty()) throw Error(ExitCode::environment, "no checkpoint in " + arguments.config);
  ExitCode result = ExitCode::ok;
  ResultTable table = new_table();
  for (const SetEntry& entry : chosen) {
    const std::string damage = sets.verify(entry);
    table.add(row(entry, damage));
    if (damage.empty()) continue;
    result = ExitCode::storage;
    table.note(damage);
  }
  print(table, arguments.json);
  return result;
}

}  // namespace stoker

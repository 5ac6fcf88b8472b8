#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/train/checkpoint_sets.h"
#include "app/commands/commands.h"

namespace stoker {
namespace {

struct Arguments : ConfigArguments {
  bool all = false;
  bool json = false;
};

std::string age_text(const SetEntry& entry) {
  if (!entry.age_s) return "-";
  const auto s = static_cast<int64_t>(*entry.age_s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 48 * 3600) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d", s / 86400);
}

nlohmann::json to_json(const SetEntry& entry) {
  nlohmann::json json = {
      {"tier", entry.tier}, {"path", entry.path}, {"state", entry.state}, {"bytes", entry.bytes}};
  if (entry.step) json["step"] = *entry.step;
  if (!entry.created.empty()) json["created"] = entry.created;
  if (entry.age_s) json["age_s"] = *entry.age_s;
  return json;
}

void print_row(const SetEntry& entry, const std::string& state) {
  fmt::print("{:<8} {:>10}  {:<18} {:>8} {:>12.1f} MB  {}\n", entry.tier,
             entry.step ? std::to_string(*entry.step) : "-", state, age_text(entry),
             1e-6 * static_cast<double>(entry.bytes), entry.path);
}

void print_header() {
  fmt::print("{:<8} {:>10}  {:<18} {:>8} {:>15}  {}\n", "tier", "step", "state", "age", "size",
             "path");
}

void list(const Arguments& arguments) {
  const std::vector<SetEntry> entries =
      CheckpointSets(arguments.config, arguments.overrides).list();
  if (arguments.json) {
    nlohmann::json json = nlohmann::json::array();
    for (const SetEntry& entry : entries) json.push_back(to_json(entry));
    fmt::print("{}\n", json.dump(2));
    return;
  }
  print_header();
  for (const SetEntry& entry : entries) print_row(entry, entry.state);
}

ExitCode verify(const Arguments& arguments) {
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
  nlohmann::json json = nlohmann::json::array();
  if (!arguments.json) print_header();
  for (const SetEntry& entry : chosen) {
    const std::string damage = sets.verify(entry);
    if (!damage.empty()) result = ExitCode::storage;
    json.push_back(to_json(entry));
    json.back()["intact"] = damage.empty();
    if (!damage.empty()) json.back()["damage"] = damage;
    if (arguments.json) continue;
    print_row(entry, damage.empty() ? "intact" : "DAMAGED");
    if (!damage.empty()) fmt::print("  {}\n", damage);
  }
  if (arguments.json) fmt::print("{}\n", json.dump(2));
  return result;
}

void add_arguments(CLI::App& command, Arguments& arguments) {
  command
      .add_option("WHERE", arguments.config,
                  "experiment (YAML), a directory with step-... in it, or one of these")
      ->required();
  command.add_option("OVERRIDES", arguments.overrides, "a.b=value, in the place of the file's")
      ->type_name("a.b=c");
  command.add_flag("--json", arguments.json, "print JSON");
}

}  // namespace

void add_checkpoint(CLI::App& app, ExitCode& result) {
  CLI::App* checkpoint = app.add_subcommand("checkpoint", "Look at the checkpoints of a run");
  checkpoint->require_subcommand(1);

  auto listed = std::make_shared<Arguments>();
  CLI::App* command =
      checkpoint->add_subcommand("list", "Sets on every tier: step, state, age, size");
  add_arguments(*command, *listed);
  command->callback([listed, &result] {
    list(*listed);
    result = ExitCode::ok;
  });

  auto verified = std::make_shared<Arguments>();
  command = checkpoint->add_subcommand(
      "verify", "Read every byte of the newest sets; exit code 5 where one is damaged");
  add_arguments(*command, *verified);
  command->add_flag("--all", verified->all, "of all sets");
  command->callback([verified, &result] { result = verify(*verified); });
}

}  // namespace stoker

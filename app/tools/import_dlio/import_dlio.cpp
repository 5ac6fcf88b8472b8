#include "app/tools/import_dlio/import_dlio.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/tools/import_dlio/au.h"
#include "app/tools/import_dlio/generate.h"
#include "app/tools/import_dlio/rules.h"
#include "app/tools/import_dlio/translate.h"
#include "io/core/config/config.h"
#include "io/core/system/file.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

// "++workload.dataset.x=1", as DLIO takes it, is dataset.x=1.
std::string plain_override(std::string text) {
  while (text.starts_with('+')) text.erase(0, 1);
  if (text.starts_with("workload.")) text.erase(0, 9);
  return text;
}

struct Workload {
  DlioWorkload is;
  std::vector<std::string> changed;  // keys that the command line sets
};

Workload read(const ImportDlioArguments& arguments) {
  Node file = load_yaml(arguments.config);
  const bool below = file.find("workload") != nullptr;
  Workload workload;
  for (const std::string& text : arguments.overrides) {
    const std::string assignment = plain_override(text);
    apply_override(file, (below ? "workload." : "") + assignment);
    workload.changed.push_back(assignment.substr(0, assignment.find('=')));
  }
  workload.is = read_workload(file);
  return workload;
}

// One line of a comment.
std::string comment(const std::string& text) { return "# " + printable(text) + "\n"; }

std::string experiment_text(const std::string& source, const DlioWorkload& workload,
                            const DlioTranslation& translation) {
  std::string text =
      comment(fmt::format("Made by `stoker import-dlio` of {}: {}.", source, workload.model.name));
  text += comment(fmt::format(
      "It asks for an AU of {:.0f} %. That of a run: stoker import-dlio {} --run DIRECTORY",
      100 * workload.au, source));
  if (!translation.remarks.empty()) text += "# Otherwise than in DLIO:\n";
  for (const std::string& line : translation.remarks) text += comment("  " + line);
  return text + to_yaml(translation.experiment) + "\n";
}

// Whether the file is there already, with this text.
bool is_written(const std::string& path, const std::string& text) {
  const std::optional<std::string> there = read_if_there(path);
  if (there && *there != text) {
    throw Error(ExitCode::environment,
                path + ": exists and says something else: name another file by --to FILE");
  }
  return there.has_value();
}

std::vector<DlioRule> rules_of(const Workload& workload, const ImportDlioArguments& arguments) {
  if (workload.is.only_checkpoints()) return {};
  constexpr double kGib = 1 << 30;
  DlioMachines machines;
  machines.memory =
      arguments.memory ? static_cast<uint64_t>(*arguments.memory * kGib) : memory_of_machine();
  machines.hosts = arguments.hosts;
  machines.accelerators = arguments.accelerators;
  return check_rules(workload.is, machines, workload.changed);
}

nlohmann::json to_json(const std::vector<DlioRule>& rules) {
  nlohmann::json json = nlohmann::json::array();
  for (const DlioRule& rule : rules) {
    json.push_back({{"rule", rule.name}, {"kept", rule.kept}, {"text", rule.text}});
  }
  return json;
}

void say(const DlioTranslation& translation, const std::vector<DlioRule>& rules) {
  for (const std::string& line : translation.remarks) print_note("otherwise: " + printable(line));
  for (const DlioRule& rule : rules) {
    print_note(fmt::format("rule {}: {}: {}", rule.kept ? "kept" : "broken", rule.name,
                           printable(rule.text)));
  }
}

}  // namespace

ExitCode import_dlio(const ImportDlioArguments& arguments) {
  const Workload workload = read(arguments);
  if (!arguments.run.empty()) return print_au(workload.is, arguments.run, arguments.json);
  const std::string folder = arguments.generate.empty() ? arguments.data : arguments.generate;
  const std::string data =
      folder.empty() ? folder : std::filesystem::absolute(folder).lexically_normal().string();
  const DlioTranslation translation = translate(workload.is, data);
  const std::vector<DlioRule> rules = rules_of(workload, arguments);
  nlohmann::json json{{"otherwise", translation.remarks}, {"rules", to_json(rules)}};
  if (!translation.checkpoints.empty()) json["checkpoints"] = translation.checkpoints;
  std::string text = translation.checkpoints + "\n";
  if (!workload.is.only_checkpoints()) {
    text = experiment_text(arguments.config, workload.is, translation);
    json["experiment"] = text;
  }
  // Asked before the data are generated, which may take hours.
  const bool to_write = !arguments.to.empty() && !is_written(arguments.to, text);
  if (!arguments.generate.empty()) {
    const DlioData made = generate(workload.is, data, progress_of("files"));
    const double rate = static_cast<double>(made.bytes) / std::max(1e-9, made.seconds);
    json["generated"] = {{"files", made.files}, {"bytes", made.bytes}, {"seconds", made.seconds}};
    print_note(fmt::format("generated {}, {}, in {:.2f} s: {:.0f} MB/s", plural(made.files, "file"),
                           plural(made.bytes, "byte"), made.seconds, rate / 1e6));
  }
  if (to_write) {
    atomic_write_file(arguments.to, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  if (!arguments.json) say(translation, rules);
  if (!arguments.to.empty() && !arguments.json) return ExitCode::ok;
  return print_result(arguments.json, json, text);
}

}  // namespace stoker

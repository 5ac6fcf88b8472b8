#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/tools/sweep/studies.h"

namespace stoker {
namespace {

using nlohmann::json;

std::string number(const json& value) {
  const auto figure = value.get<double>();
  return std::abs(figure) >= 1000 ? fmt::format("{:.0f}", figure) : fmt::format("{:.3g}", figure);
}

// A bar would end a cell.
std::string cell(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 1)) {
    text[at] = '/';
  }
  return text;
}

std::string published(const json& row) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  const auto given = [&](const char* key) {
    const auto found = row.find(key);
    return found != row.end() && found->is_number();
  };
  if (given("published")) add(number(row["published"]));
  if (given("tolerance")) text += fmt::format(" ± {:.3g} %", 100 * row["tolerance"].get<double>());
  if (given("at_most")) add("at most " + number(row["at_most"]));
  if (given("at_least")) add("at least " + number(row["at_least"]));
  if (row.contains("mark")) text += fmt::format(" [{}]", row["mark"].get<std::string>());
  return text;
}

std::string ours(const json& row) {
  if (!row.contains("measured")) return "not measured";
  std::string text = number(row["measured"]);
  if (row["runs"] > 1 && row.contains("low") && row.contains("high")) {
    text += fmt::format(" ({} to {})", number(row["low"]), number(row["high"]));
  }
  return text;
}

std::string how(const json& row) {
  const auto name = row.at("how").get<std::string>();
  return name == "put_in" ? "put in" : name;
}

std::string duration(double seconds) {
  return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

std::string note_of(const json& row) {
  const std::string note = row.value("note", "");
  return note.empty() ? row.value("source", "") : note;
}

// Findings that are outside their limits.
std::string contradictions(const json& page) {
  std::string rows;
  for (const json& study : page.at("studies")) {
    for (const json& row : study.at("rows")) {
      if (row.at("verdict") != "outside") continue;
      rows += fmt::format("| {} | {} | {} | {} | {} |\n", cell(row.at("name")), published(row),
                          ours(row), how(row), cell(note_of(row)));
    }
  }
  if (rows.empty()) return "";
  return "## Contradictions that are left\n\n| what | published or limit | ours | how | why |\n"
         "|---|---|---|---|---|\n" +
         rows + "\n";
}

std::string study_text(const json& study) {
  std::string text = fmt::format("## {}\n\n{}", study.at("title").get<std::string>(),
                                 study.at("published").get<std::string>());
  const std::string about = study.value("about", "");
  text += about.empty() ? "\n\n" : fmt::format(" {}\n\n", about);
  text +=
      "| what | published or limit | ours: median (least to most) | runs | how | |\n"
      "|---|---|---|---|---|---|\n";
  for (const json& row : study.at("rows")) {
    const bool outside = row.at("verdict") == "outside";
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", cell(row.at("name")), published(row),
                        ours(row), row.at("runs").get<int64_t>(), how(row),
                        outside ? "**outside**" : row.at("verdict").get<std::string>());
  }
  text += "\n| made by | runs | took | conditions |\n|---|---|---|---|\n";
  for (const json& sweep : study.at("sweeps")) {
    text += fmt::format("| `stoker sweep {}` | {} | {} | {} |\n",
                        sweep.at("file").get<std::string>(), sweep.at("runs").get<int64_t>(),
                        duration(sweep.at("seconds")), cell(sweep.at("conditions")));
  }
  return text + "\n";
}

std::string machine_text(const json& page) {
  if (page.at("sweeps").empty()) return "";
  const json& machine = page["sweeps"][0].at("machine");
  const json cpu = machine.value("cpu", json::object());
  return fmt::format("Machine: {}, {} cores, {}; stoker {}, revision {}.",
                     cpu.value("model", "unknown"), cpu.value("cores", 0),
                     machine.value("system", "unknown"), machine.value("stoker", "unknown"),
                     machine.value("revision", "unknown"));
}

}  // namespace

std::string studies_text(const json& page) {
  std::string text =
      fmt::format("# {}\n\n{} All runs took {}.\n\n", page.at("title").get<std::string>(),
                  machine_text(page), duration(page.at("seconds")));
  if (page.value("shortened", false)) {
    text += "**Shortened**: too few steps and repetitions to judge anything.\n\n";
  }
  text +=
      "How: **measured** in real time, **calculated** from what was put in, **put in**, or "
      "**simulated** by `stoker simulate`. [V] is read verbatim in the paper, [S] second-hand, [M] "
      "from memory. Most devices and tiers are emulated; the conditions say so.\n\n";
  text += contradictions(page);
  for (const json& study : page.at("studies")) text += study_text(study);
  text.pop_back();
  return text;
}

}  // namespace stoker

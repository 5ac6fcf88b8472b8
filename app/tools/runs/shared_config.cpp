// A file of ours is a mapping in block style. Its text is cut before each line that begins a
// member, and so is that of a member which is itself a mapping, down to single lines; each piece is
// a document of its own. Whatever does not come apart like that (another program's YAML, a list, a
// text over several lines) is parsed as a whole.

#include "app/tools/runs/shared_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

// The pieces of a mapping's text, each of which begins with a line that is not indented.
std::vector<std::string_view> members_of(std::string_view text) {
  std::vector<std::string_view> members;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const char first = text[at];
    if (at > begin && first != ' ' && first != '\n' && first != '#') {
      members.push_back(text.substr(begin, at - begin));
      begin = at;
    }
    at = end;
  }
  if (begin < text.size()) members.push_back(text.substr(begin));
  return members;
}

// "key:" and indented lines below it: the key, and those lines two places further left. An empty
// key: it is something else.
std::pair<std::string, std::string> mapping_below(std::string_view text) {
  const size_t line = text.find('\n');
  if (line == text.npos || line < 2 || text[line - 1] != ':') return {};
  const std::string_view key = text.substr(0, line - 1);
  const bool plain = std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!plain) return {};
  std::string body;
  for (size_t at = line + 1; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view one = text.substr(at, end - at);
    if (one.size() < 3 || !one.starts_with("  ") ||
        (body.empty() && (one[2] == '-' || one[2] == ' ')))
      return {};
    body += one.substr(2);
    at = end;
  }
  return {std::string(key), body};
}

}  // namespace

const std::string* find_leaf(const SharedLeaves& config, const std::string& key) {
  for (const auto& part : config) {
    if (const auto found = part->find(key); found != part->end()) return &found->second;
  }
  return nullptr;
}

SharedLeaves SharedConfigs::read(const std::string& text) {
  SharedLeaves config;
  try {
    std::set<std::string> keys;
    bool apart = true;
    for (const std::string_view member : members_of(text)) {
      config.push_back(part(member, true));
      const std::string first = config.back()->empty() ? "" : config.back()->begin()->first;
      apart = apart && !first.empty() && keys.insert(first.substr(0, first.find('.'))).second;
    }
    if (apart) return config;
  } catch (const Error&) {  // it does not come apart
  }
  try {
    RunFiles files;
    files.config = text;
    return {std::make_shared<const Leaves>(config_leaves(files))};
  } catch (const Error&) {  // somebody has changed it
    return {};
  }
}

SharedConfigs::Part SharedConfigs::part(std::string_view text, bool top) {
  std::string key = (top ? "." : " ") + std::string(text);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = parts_.find(key); found != parts_.end()) return found->second;
  }
  Leaves read = parse(text);
  if (top) {
    read.erase("run.name");
    read.erase("run.dir");
  }
  Part part = std::make_shared<const Leaves>(std::move(read));
  const std::lock_guard lock(mutex_);
  return parts_.try_emplace(std::move(key), std::move(part)).first->second;
}

Leaves SharedConfigs::parse(std::string_view text) {
  Leaves all;
  if (const auto [key, body] = mapping_below(text); !key.empty()) {
    for (const std::string_view member : members_of(body)) {
      for (const auto& [path, value] : *part(member, false)) {
        // A key that stands twice is an error of the whole file.
        if (!all.emplace(fmt::format("{}.{}", key, path), value).second)
          throw Error(ExitCode::config, "twice");
      }
    }
  } else {
    const Node node = parse_yaml(std::string(text), "config.yaml");
    if (node.entries.size() != 1) throw Error(ExitCode::config, "not one member");
    all = leaves(to_json(node));
  }
  return all;
}

void SharedConfigs::prune() {
  const std::lock_guard lock(mutex_);
  std::erase_if(parts_, [](const auto& part) { return part.second.use_count() == 1; });
}

std::vector<std::vector<std::pair<std::string, std::string>>> rare_leaves(
    const std::vector<const SharedLeaves*>& runs) {
  std::unordered_map<const Leaves*, size_t> shares;
  for (const SharedLeaves* run : runs) {
    for (const auto& part : *run) ++shares[part.get()];
  }
  std::map<std::pair<std::string_view, std::string_view>, size_t> counts;
  for (const auto& [part, count] : shares) {
    for (const auto& [key, value] : *part) counts[{key, value}] += count;
  }
  std::unordered_map<const Leaves*, Leaves> rare;
  for (const auto& [part, count] : shares) {
    for (const auto& [key, value] : *part) {
      if (2 * counts[{key, value}] <= runs.size()) rare[part].emplace(key, value);
    }
  }
  std::vector<std::vector<std::pair<std::string, std::string>>> result(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const auto& part : *runs[i]) {
      const auto found = rare.find(part.get());
      if (found == rare.end()) continue;
      result[i].insert(result[i].end(), found->second.begin(), found->second.end());
    }
    std::ranges::sort(result[i]);
  }
  return result;
}

}  // namespace stoker

#include "app/arena/plan.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "io/core/error.h"
#include "io/core/random.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

using Values = std::map<std::string, std::string>;

// For /bin/sh.
std::string quoted(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._-+=:").find(c) != std::string_view::npos;
  });
  if (plain && !word.empty()) return word;
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string replaced(std::string text, const Values& values, bool for_shell) {
  for (const auto& [name, value] : values) {
    const std::string mark = "{" + name + "}";
    const std::string by = for_shell ? quoted(value) : value;
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      text.replace(at, mark.size(), by);
      at += by.size();
    }
  }
  return text;
}

// From wherever the commands run.
std::string absolute(const Path& path) {
  return path.value.empty() ? "" : fs::absolute(path.value).lexically_normal().string();
}

Values values_of(const ArenaOptions& options) {
  std::error_code error;
  return {{"data", absolute(options.data)},
          {"peers", absolute(options.peers)},
          {"here", options.here},
          {"epochs", std::to_string(options.epochs)},
          {"stoker", fs::read_symlink("/proc/self/exe", error).string()}};
}

// A build by itself: results of another one must not be taken for its own.
std::string own_build() {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&is_there), &own) == 0) return "";
  std::error_code error;
  const auto time = fs::last_write_time(own.dli_fname, error).time_since_epoch().count();
  return fmt::format("{}", time);
}

std::string hash_of(const std::string& text) {
  uint64_t state = text.size();
  for (const char c : text) state = mix(state, static_cast<uint8_t>(c));
  return fmt::format("{:016x}", state);
}

}  // namespace

bool is_selected(const ArenaEntry& entry, const ArenaSelection& selection) {
  return selection.only.empty() ||
         std::any_of(selection.only.begin(), selection.only.end(), [&](const std::string& part) {
           return entry.name.find(part) != std::string::npos || entry.klass == part;
         });
}

bool is_there(const ArenaOptions& options, const ArenaEntry& entry) {
  return entry.needs.empty() || fs::exists(replaced(entry.needs, values_of(options), false));
}

std::vector<ArenaRun> plan_arena(const ArenaOptions& options, const ArenaSelection& selection) {
  std::vector<ArenaRun> every;
  Values values = values_of(options);
  const std::string build = own_build();
  for (size_t i = 0; i < options.entries.size(); ++i) {
    const ArenaEntry& entry = options.entries[i];
    if (!is_selected(entry, selection)) continue;
    for (const int64_t workers : entry.workers.empty() ? options.workers : entry.workers) {
      const auto& wanted = selection.workers;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), workers) == wanted.end()) {
        continue;
      }
      values["workers"] = std::to_string(workers);
      ArenaRun run{i, workers, 0, replaced(entry.command, values, true), ""};
      run.hash = hash_of(run.command + (entry.ours() ? build : ""));
      every.push_back(run);
    }
  }
  if (every.empty()) {
    throw Error(ExitCode::config, "arena '" + options.name +
                                      "': nothing is left to run; see the names, classes and "
                                      "workers of its file for --only and --workers");
  }
  std::vector<ArenaRun> plan;
  for (int64_t round = 0; round < options.rounds; ++round) {
    Random random(mix(static_cast<uint64_t>(options.seed), static_cast<uint64_t>(round)));
    std::vector<ArenaRun> order = every;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (ArenaRun& run : order) {
      run.round = round;
      plan.push_back(std::move(run));
    }
  }
  return plan;
}

std::string pixel_file(const std::string& directory, const ArenaEntry& entry) {
  return directory + "/pixels/" + hash_of(entry.name) + ".npy";
}

std::vector<ArenaRun> plan_pixels(const ArenaOptions& options, const ArenaSelection& selection,
                                  const std::string& directory) {
  std::vector<ArenaRun> plan;
  Values values = values_of(options);
  values["data"] = absolute(options.pixel_data);
  values["workers"] = "1";
  for (size_t i = 0; i < options.entries.size(); ++i) {
    const ArenaEntry& entry = options.entries[i];
    // A reference is needed whatever is selected of its class.
    const bool wanted =
        std::any_of(options.entries.begin(), options.entries.end(), [&](const ArenaEntry& other) {
          return is_selected(other, selection) &&
                 (other.name == entry.name || (entry.reference && other.klass == entry.klass));
        });
    if (!wanted || entry.pixels.empty()) continue;
    values["dump"] = fs::absolute(pixel_file(directory, entry)).string();
    plan.push_back({i, 1, 0, replaced(entry.pixels, values, true), ""});
  }
  return plan;
}

}  // namespace stoker

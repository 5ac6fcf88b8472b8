#include "app/tools/run_tiers/tier_folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/storage/emulated/tier_figures.h"

namespace stoker {
namespace {

[[noreturn]] void refuse(const std::string& what, int error) {
  throw Error(
      ExitCode::environment,
      fmt::format("--tier: {}: {}: run it as root, or allow users to have namespaces (sysctl "
                  "user.max_user_namespaces, kernel.unprivileged_userns_clone=1, "
                  "kernel.apparmor_restrict_unprivileged_userns=0; in a container --cap-add "
                  "SYS_ADMIN)",
                  what, std::strerror(error)));
}

void write_map(const char* path, const std::string& text) {
  const FileDescriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) < 0) {
    refuse(fmt::format("this user cannot be itself in a namespace ({})", path), errno);
  }
}

}  // namespace

void take_own_mounts() {
  const auto user = ::geteuid();
  const auto group = ::getegid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (errno != EPERM) refuse("this process cannot have mounts of its own", errno);
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      refuse("this user cannot have mounts of its own", errno);
    }
    // Before the group: the kernel asks for it. Where it is not there, nobody does.
    if (::access("/proc/self/setgroups", F_OK) == 0) write_map("/proc/self/setgroups", "deny");
    write_map("/proc/self/uid_map", fmt::format("{} {} 1", user, user));
    write_map("/proc/self/gid_map", fmt::format("{} {} 1", group, group));
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    refuse("mounts cannot be kept to this process", errno);
  }
}

void enter_working_folder_again() {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (!error) std::filesystem::current_path(here, error);
  if (error) {
    throw Error(ExitCode::environment,
                fmt::format("--tier: the working folder cannot be entered again: {}: run it from "
                            "another folder",
                            error.message()));
  }
}

namespace {

Node word_node(const std::string& text) { return parse_yaml(text, "--tier"); }

Node figures_of(const std::string& tier) {
  if (tier.starts_with('{')) {
    Node figures = word_node(tier);
    for (const char* key : {"type", "inner", "shared"}) {
      if (figures.find(key) == nullptr) continue;
      throw Error(ExitCode::config, fmt::format("--tier: {} has a '{}', which is not told here: "
                                                "leave it out",
                                                tier, key));
    }
    return figures;
  }
  std::vector<std::string> names;
  for (const auto& [name, profile] : enum_names(TierProfile())) names.emplace_back(name);
  if (std::ranges::find(names, tier) == names.end()) {
    throw Error(ExitCode::config,
                fmt::format("--tier: unknown tier '{}'{}", tier, suggestion(tier, names)));
  }
  return word_node(fmt::format("{{profile: {}}}", tier));
}

}  // namespace

TierWord parse_tier_word(const std::string& word) {
  const size_t figures = word.find("={");
  const size_t at = figures == std::string::npos ? word.rfind('=') : figures;
  if (at == std::string::npos || at == 0 || at + 1 == word.size()) {
    throw Error(ExitCode::config,
                fmt::format("--tier: '{}' is no FOLDER=TIER: give a folder and what it shall be "
                            "like, as in data/=hdd",
                            word));
  }
  return {word.substr(0, at), word.substr(at + 1)};
}

Component<Storage> tier_over(const std::string& root, const std::string& tier) {
  Node node = figures_of(tier);
  const Node rest = word_node(
      fmt::format("{{type: emulated, shared: false, inner: {{type: posix, root: {}}}}}", root));
  node.entries.insert(node.entries.begin(), rest.entries.begin(), rest.entries.end());
  Component<Storage> component;
  Field<Component<Storage>>::read(Section(node, "", "--tier", nullptr), component, {});
  return component;
}

}  // namespace stoker

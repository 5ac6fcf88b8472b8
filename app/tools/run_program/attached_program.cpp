#include "app/tools/run_program/attached_program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "app/tools/inject/inject.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/profiler/preload/preload_layout.h"

namespace stoker {
namespace {

constexpr const char* kEntry = "stoker_preload_request";

std::vector<std::string> words_of(pid_t pid) {
  const std::string text = read_if_there(fmt::format("/proc/{}/cmdline", pid)).value_or("");
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Who owns a process.
struct stat owner_of(pid_t pid) {
  struct stat process {};
  const std::string path = fmt::format("/proc/{}", pid);
  if (::stat(path.c_str(), &process) != 0) throw_errno("read", path, errno);
  return process;
}

PreloadRequest ask(Injection& injection, const std::string& library, PreloadRequest request) {
  std::string block(sizeof request, '\0');
  std::memcpy(block.data(), &request, sizeof request);
  injection.call(library, kEntry, block);
  std::memcpy(&request, block.data(), sizeof request);
  return request;
}

std::string stat_of(pid_t pid) {
  try {
    return read_if_there(fmt::format("/proc/{}/stat", pid)).value_or("");
  } catch (const IoError&) {  // it ends
    return "";
  }
}

// Behind the name, which may be anything: " S 4711 ...".
std::string behind_name(const std::string& stat) {
  const size_t end = stat.rfind(')');
  return end == std::string::npos ? "" : stat.substr(end + 1);
}

bool has_ended(pid_t pid) {
  const std::string state = behind_name(stat_of(pid));
  return state.empty() || state.starts_with(" Z") || state.starts_with(" X");
}

// The processes that it has started, and those that they have.
std::vector<pid_t> descendants_of(pid_t pid) {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  std::filesystem::directory_iterator at("/proc", error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    const pid_t one = std::atoi(at->path().filename().c_str());
    pid_t parent = 0;
    if (one > 0 && std::sscanf(behind_name(stat_of(one)).c_str(), " %*c %d", &parent) == 1) {
      children.emplace(parent, one);
    }
  }
  std::vector<pid_t> found{pid};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

[[noreturn]] void refuse(pid_t pid, const char* why) {
  throw Error(ExitCode::environment, fmt::format("process {} cannot be counted: {}", pid, why));
}

}  // namespace

AttachedProgram::AttachedProgram(pid_t pid, const std::string& library, const PreloadFolder& folder)
    : pid_(pid), library_(library), command_(words_of(pid)) {
  attach(pid, folder);
  for (const pid_t child : descendants_of(pid)) {
    try {
      attach(child, folder);
    } catch (const Error& error) {
      if (!has_ended(child)) notes_.emplace_back(error.what());
    }
  }
}

void AttachedProgram::attach(pid_t pid, const PreloadFolder& folder) {
  PreloadRequest request{.what = PreloadRequest::kAttach};
  const std::string& path = folder.path();
  if (path.size() >= sizeof request.folder) refuse(pid, "its folder of counters is too long");
  std::strcpy(request.folder, path.c_str());
  Injection injection(pid);
  const struct stat owner = owner_of(pid);
  if (pid == pid_) {
    if (owner.st_uid != ::geteuid()) folder.give_to(owner.st_uid, owner.st_gid);
  } else if (owner.st_uid != owner_of(pid_).st_uid) {
    refuse(pid, "another user owns it than the program: attach to it by a --pid of its own");
  }
  injection.load(library_);
  const PreloadRequest answer = ask(injection, library_, request);
  if (answer.result == PreloadRequest::kCounted) {
    refuse(pid, "`stoker run` counts it already: stop that one, or look at its log");
  }
  if (answer.result != PreloadRequest::kDone) {
    refuse(pid,
           "it does not see the folder of counters, or there is no room in it: run stoker in its "
           "container, or free some memory");
  }
  slots_ += answer.slots;
  parts_.push_back(pid);
}

AttachedProgram::~AttachedProgram() { let_go(); }

bool AttachedProgram::ended() const { return has_ended(pid_); }

void AttachedProgram::let_go() {
  if (parts_.empty()) return;
  std::vector<pid_t> all = std::exchange(parts_, {});
  // Those that were forked meanwhile have the library from their parent.
  for (const pid_t child : descendants_of(pid_)) {
    if (std::ranges::find(all, child) == all.end()) all.push_back(child);
  }
  for (const pid_t pid : all) {
    try {
      if (!has_ended(pid)) let_go(pid);
    } catch (const Error& error) {
      if (!has_ended(pid)) notes_.push_back(std::string("not let go of: ") + error.what());
    }
  }
}

void AttachedProgram::let_go(pid_t pid) const {
  Injection injection(pid);
  if (injection.has(library_)) ask(injection, library_, {.what = PreloadRequest::kDetach});
}

}  // namespace stoker

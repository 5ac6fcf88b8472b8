#include "app/tools/run_program/attached_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/profiler/preload/preload_layout.h"
#include "io/profiler/preload/preload_request.h"

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

// Root's folder, for a program of somebody else.
void give_folder(const std::string& folder, pid_t pid) {
  struct stat process {};
  const std::string of = fmt::format("/proc/{}", pid);
  if (::stat(of.c_str(), &process) != 0 || process.st_uid == ::geteuid()) return;
  for (const std::string& path : {folder, folder + "/" + kPreloadCommonName}) {
    if (::chown(path.c_str(), process.st_uid, process.st_gid) != 0) {
      throw_errno("give to the program's user", path, errno);
    }
  }
}

PreloadRequest ask(Injection& injection, const std::string& library, PreloadRequest request) {
  std::string block(sizeof request, '\0');
  std::memcpy(block.data(), &request, sizeof request);
  injection.call(library, kEntry, block);
  std::memcpy(&request, block.data(), sizeof request);
  return request;
}

[[noreturn]] void refuse(pid_t pid, const char* why) {
  throw Error(ExitCode::environment, fmt::format("process {} cannot be counted: {}", pid, why));
}

}  // namespace

AttachedProgram::AttachedProgram(pid_t pid, const std::string& library, const std::string& folder)
    : pid_(pid), library_(library), injection_(pid), command_(words_of(pid)) {
  std::error_code error;
  executable_ = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error).string();
  PreloadRequest request{.what = PreloadRequest::kAttach};
  if (folder.size() >= sizeof request.folder) refuse(pid, "its folder of counters is too long");
  std::strcpy(request.folder, folder.c_str());
  give_folder(folder, pid);
  injection_.load(library_);
  const PreloadRequest answer = ask(injection_, library_, request);
  if (answer.result == PreloadRequest::kCounted) {
    refuse(pid, "`stoker run` counts it already: stop that one, or look at its log");
  }
  if (answer.result != PreloadRequest::kDone) {
    refuse(pid,
           "it does not see the folder of counters, or there is no room in it: run stoker in "
           "its container, or free some memory");
  }
  slots_ = answer.slots;
  attached_ = true;
}

AttachedProgram::~AttachedProgram() {
  try {
    let_go();
  } catch (const std::exception&) {
  }
}

bool AttachedProgram::ended() const {
  const std::string text = read_if_there(fmt::format("/proc/{}/stat", pid_)).value_or("");
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos || text.compare(name_end, 4, ") Z ") == 0;
}

void AttachedProgram::let_go() {
  if (!attached_) return;
  attached_ = false;
  if (ended()) return;
  try {
    ask(injection_, library_, {.what = PreloadRequest::kDetach});
  } catch (const Error&) {
    if (!ended()) throw;
  }
}

}  // namespace stoker

#if defined(__x86_64__)

#include "app/tools/inject/inject.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>

#include "app/tools/inject/borrowed_thread.h"
#include "app/tools/inject/harmless_calls.h"
#include "io/core/error.h"

namespace stoker {
namespace {

using Clock = BorrowedThread::Clock;

constexpr uint64_t kNow = 2, kNoDelete = 0x1000;  // RTLD_NOW, RTLD_NODELETE
constexpr uint64_t kAsDlopen = 0x80000000;        // __libc_dlopen_mode

[[noreturn]] void refuse(pid_t pid, const std::string& why) {
  throw Error(ExitCode::environment, fmt::format("process {} cannot be attached to: {}", pid, why));
}

// A field of /proc/PID/status, "State:\t".
std::string status_of(pid_t pid, const std::string& field) {
  const std::string text = read_if_there(fmt::format("/proc/{}/status", pid)).value_or("");
  const size_t at = text.find(field);
  if (at == std::string::npos) refuse_target(pid, ESRCH);
  return text.substr(at + field.size(), text.find('\n', at) - at - field.size());
}

void check_state(pid_t pid) {
  const std::string state = status_of(pid, "State:\t");
  if (state.starts_with('Z') || state.starts_with('X')) refuse(pid, "it has ended");
  if (state.starts_with('T') || state.starts_with('t')) {
    refuse(pid, "it is stopped: let it go on (kill -CONT), or end its debugger");
  }
  const std::string tracer = status_of(pid, "TracerPid:\t");
  if (tracer != "0") refuse(pid, "process " + tracer + " traces it: end that debugger");
}

// Of the whole call: a function and its library's place, found anew each time.
std::optional<uint64_t> find_function(const TargetObjects& objects, const std::string& object,
                                      const std::string& function) {
  return object.empty() ? std::nullopt : objects.function(object, function);
}

// The name of the file, or what that is a link to before glibc 2.34.
std::string find_either(const TargetObjects& objects, const char* name, const char* before) {
  const std::string path = objects.find(name);
  return path.empty() ? objects.find(before) : path;
}
std::string find_libc(const TargetObjects& objects) {
  return find_either(objects, "libc.so.6", "libc-2.");
}

struct Work {
  pid_t pid;
  const std::string& object;
  const std::string& function;
  Clock::time_point until;

  // On a thread of its own, whose end lets everything go.
  void make(TargetCall& call) const {
    constexpr auto kForOne = std::chrono::milliseconds(200);
    const TargetMemory memory(pid);
    const TargetObjects objects(pid, memory);
    const auto restorer = objects.code(find_libc(objects), restorer_code());
    const auto address = find_function(objects, object, function);
    if (!restorer || !address) refuse(pid, function + " is not in its C library or was unloaded");
    call.function = *address;
    while (Clock::now() < until) {
      for (const pid_t thread : threads_by_harmlessness(pid)) {
        BorrowedThread borrowed(pid, thread);
        if (!borrowed.stop_harmlessly(std::min(until, Clock::now() + kForOne))) continue;
        if (!objects.loader_is_idle()) continue;
        using Outcome = BorrowedThread::Outcome;
        const Outcome outcome = borrowed.make(call, objects, memory, *restorer,
                                              Clock::now() + std::chrono::seconds(10));
        if (outcome == Outcome::returned) return;
        if (outcome == Outcome::refused) continue;
        if (outcome == Outcome::failed) refuse(pid, function + " failed in it; it goes on");
        refuse(pid, function + " does not return in it; it goes on, and so does the call");
      }
      status_of(pid, "State:\t");  // an error where it has ended
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    refuse(pid,
           "none of its threads waits, reads or writes, so that none can be borrowed: try again "
           "while it does, or start it by `stoker run -- COMMAND`");
  }
};

}  // namespace

Injection::Injection(pid_t pid) : pid_(pid) {
  if (pid == ::getpid()) refuse(pid, "it is this one: name another process");
  check_kind();
  check_state(pid);
}

void Injection::check_kind() const {
  const TargetMemory memory(pid_);  // says what forbids it
  const TargetObjects objects(pid_, memory);
  const std::string instead = ": start it by `stoker run -- COMMAND`, which says what it can count";
  const std::string program =
      read_if_there(fmt::format("/proc/{}/exe", pid_), sizeof(Elf64_Ehdr)).value_or("");
  Elf64_Ehdr header{};
  std::memcpy(&header, program.data(), std::min(program.size(), sizeof header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    refuse(pid_, "it is a program of another architecture (32-bit)" + instead);
  }
  if (!objects.find("ld-musl").empty() || !objects.find("libc.musl").empty()) {
    refuse(pid_, "it is linked with musl, not with glibc" + instead);
  }
  if (find_libc(objects).empty()) refuse(pid_, "it is statically linked" + instead);
}

void Injection::check_visible(const std::string& library) const {
  struct stat here {
  }, there{};
  if (::stat(library.c_str(), &here) != 0) throw_errno("look at", library, errno);
  const std::string path = fmt::format("/proc/{}/root{}", pid_, library);
  if (::stat(path.c_str(), &there) == 0 && there.st_ino == here.st_ino &&
      there.st_dev == here.st_dev) {
    return;
  }
  refuse(pid_,
         fmt::format("it does not see {}, for it is in another container: run stoker in there",
                     library));
}

void Injection::make(const std::string& object, const std::string& function, std::string& block,
                     uint64_t second) {
  TargetCall call{0, block, second};
  std::exception_ptr failure;
  const Work work{pid_, object, function, Clock::now() + patience_};
  std::thread([&] {
    try {
      work.make(call);
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  block = call.block;
}

bool Injection::has(const std::string& library) const {
  const TargetMemory memory(pid_);
  return !TargetObjects(pid_, memory).find(library.substr(library.rfind('/') + 1)).empty();
}

void Injection::load(const std::string& library) {
  check_visible(library);
  if (has(library)) return;
  std::string opener = "dlopen", object;
  uint64_t flags = kNow | kNoDelete;
  {
    const TargetMemory memory(pid_);
    const TargetObjects objects(pid_, memory);
    object = find_libc(objects);
    if (!objects.function(object, opener)) object = find_either(objects, "libdl.so.2", "libdl-2.");
    if (object.empty()) {  // before glibc 2.34, in a program that never loads a library
      object = find_libc(objects);
      opener = "__libc_dlopen_mode";
      flags |= kAsDlopen;
    }
  }
  std::string path = library + '\0';
  make(object, opener, path, flags);
  if (!has(library)) {
    refuse(pid_, fmt::format("its loader refuses {}: see whether its C library is older than this "
                             "machine's, or its folder forbids executing (noexec)",
                             library));
  }
}

void Injection::call(const std::string& library, const std::string& function, std::string& block) {
  std::string object;
  {
    const TargetMemory memory(pid_);
    object = TargetObjects(pid_, memory).find(library.substr(library.rfind('/') + 1));
  }
  make(object, function, block, block.size());
}

}  // namespace stoker

#else

#include "app/tools/inject/inject.h"
#include "io/core/error.h"

namespace stoker {

Injection::Injection(pid_t pid) : pid_(pid) {
  throw Error(ExitCode::environment,
              "only programs for x86-64 can be attached to: start it by `stoker run -- COMMAND`");
}

bool Injection::has(const std::string&) const { return false; }
void Injection::load(const std::string&) {}
void Injection::call(const std::string&, const std::string&, std::string&) {}

}  // namespace stoker

#endif

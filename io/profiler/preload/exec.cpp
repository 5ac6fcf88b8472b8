#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "io/profiler/preload/preload.h"
#include "io/profiler/preload/preload_layout.h"
#include "io/profiler/wrap/wrapped_functions.h"

// What becomes another executable is followed, also where its environment is made anew: ours is
// added to it. All of this may run in the child of a vfork, so it asks no memory of malloc().

namespace stoker {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";

// libc's function of that name.
template <class Function>
Function below(const char* name, void*& known) {
  if (known == nullptr) known = function_below(name);
  return reinterpret_cast<Function>(known);
}

// What LD_PRELOAD and the folder were when this executable began: the program may change its own.
struct OwnEnvironment {
  char preload[4096] = "";  // "LD_PRELOAD=/.../stoker_preload.so"
  char folder[4096] = "";   // "STOKER_PRELOAD_LOG=/..."
};
constinit OwnEnvironment g_own;

void keep(char (&to)[4096], const char* name) {
  const char* const value = getenv(name);
  if (value == nullptr || strlen(name) + strlen(value) + 2 > sizeof to) return;
  strcpy(to, name);
  strcat(to, "=");
  strcat(to, value);
}

[[gnu::constructor]] void keep_environment() {
  keep(g_own.preload, kPreload);
  keep(g_own.folder, kPreloadFolder);
}

bool names(const char* entry, const char* name) {
  const size_t length = strlen(name);
  return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

size_t count_of(char* const* environment) {
  size_t count = 0;
  while (environment != nullptr && environment[count] != nullptr) ++count;
  return count;
}

bool is_followed() { return preload_counts() && *g_own.preload != '\0' && *g_own.folder != '\0'; }

// Fills `to`, which has room for two more than `from` and the end, and `preload`: what is preloaded
// there already comes behind what was preloaded here.
void add_own(char* const* from, char** to, char* preload, size_t room) {
  size_t count = 0;
  strcpy(preload, g_own.preload);
  for (size_t i = 0; i < count_of(from); ++i) {
    if (names(from[i], kPreloadFolder)) continue;
    if (!names(from[i], kPreload)) {
      to[count++] = from[i];
      continue;
    }
    const char* const others = from[i] + strlen(kPreload) + 1;
    const char* const own = g_own.preload + strlen(kPreload) + 1;
    if (strstr(others, own) != nullptr && strlen(others) + strlen(kPreload) + 2 <= room) {
      strcpy(preload, from[i]);
    } else if (*others != '\0' && strlen(preload) + strlen(others) + 2 <= room) {
      strcat(preload, ":");
      strcat(preload, others);
    }
  }
  to[count++] = preload;
  to[count++] = g_own.folder;
  to[count] = nullptr;
}

// Calls use(environment) with ours added.
template <class Use>
auto with_own(char* const* environment, const Use& use) {
  if (!is_followed()) return use(environment);
  constexpr size_t kRoom = 2 * sizeof g_own.preload;
  char preload[kRoom];
  auto** const all =
      static_cast<char**>(__builtin_alloca((count_of(environment) + 3) * sizeof(char*)));
  add_own(environment, all, preload, kRoom);
  return use(static_cast<char* const*>(all));
}

// This process becomes another executable, if it succeeds.
template <class Call>
int become(char* const* environment, const Call& call) {
  return with_own(environment, [&](char* const* with) {
    stamp_end(true);
    const int result = call(with);
    const int error = errno;
    stamp_end(false);
    errno = error;
    return result;
  });
}

using Execve = int (*)(const char*, char* const*, char* const*);
using Execveat = int (*)(int, const char*, char* const*, char* const*, int);
using Fexecve = int (*)(int, char* const*, char* const*);
using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                      const posix_spawnattr_t*, char* const*, char* const*);
using Exit = void (*)(int);

constinit void* g_execve = nullptr;
constinit void* g_execvpe = nullptr;
constinit void* g_execveat = nullptr;
constinit void* g_fexecve = nullptr;
constinit void* g_spawn = nullptr;
constinit void* g_spawnp = nullptr;
constinit void* g_exit = nullptr;

int exec_path(const char* path, char* const* words, char* const* environment) {
  const auto call = below<Execve>("execve", g_execve);
  return become(environment, [&](char* const* with) { return call(path, words, with); });
}

int exec_found(const char* file, char* const* words, char* const* environment) {
  const auto call = below<Execve>("execvpe", g_execvpe);
  return become(environment, [&](char* const* with) { return call(file, words, with); });
}

[[noreturn]] void exit_now(int code) {
  stamp_end(true);
  below<Exit>("_exit", g_exit)(code);
  __builtin_unreachable();
}

// The words of execl() and its like, from `first` to the null pointer.
size_t words_in(va_list list) {
  va_list counted;
  va_copy(counted, list);
  size_t count = 0;
  while (va_arg(counted, char*) != nullptr) ++count;
  va_end(counted);
  return count;
}

void take_words(const char* first, va_list list, char** words) {
  *words++ = const_cast<char*>(first);
  while ((*words++ = va_arg(list, char*)) != nullptr) {
  }
}

}  // namespace
}  // namespace stoker

#define STOKER_EXPORTED extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN(cert-dcl50-cpp,readability-inconsistent-declaration-parameter-name): libc's own.

STOKER_EXPORTED int execve(const char* path, char* const words[],
                           char* const environment[]) noexcept {
  return stoker::exec_path(path, words, environment);
}

STOKER_EXPORTED int execv(const char* path, char* const words[]) noexcept {
  return stoker::exec_path(path, words, environ);
}

STOKER_EXPORTED int execvp(const char* file, char* const words[]) noexcept {
  return stoker::exec_found(file, words, environ);
}

STOKER_EXPORTED int execvpe(const char* file, char* const words[],
                            char* const environment[]) noexcept {
  return stoker::exec_found(file, words, environment);
}

STOKER_EXPORTED int execveat(int directory, const char* path, char* const words[],
                             char* const environment[], int flags) noexcept {
  const auto call = stoker::below<stoker::Execveat>("execveat", stoker::g_execveat);
  return stoker::become(
      environment, [&](char* const* with) { return call(directory, path, words, with, flags); });
}

STOKER_EXPORTED int fexecve(int fd, char* const words[], char* const environment[]) noexcept {
  const auto call = stoker::below<stoker::Fexecve>("fexecve", stoker::g_fexecve);
  return stoker::become(environment, [&](char* const* with) { return call(fd, words, with); });
}

#define STOKER_TAKE_WORDS(words)                                                           \
  va_list list;                                                                            \
  va_start(list, first);                                                                   \
  auto** const words =                                                                     \
      static_cast<char**>(__builtin_alloca((stoker::words_in(list) + 2) * sizeof(char*))); \
  stoker::take_words(first, list, words)

STOKER_EXPORTED int execl(const char* path, const char* first, ...) noexcept {
  STOKER_TAKE_WORDS(words);
  va_end(list);
  return stoker::exec_path(path, words, environ);
}

STOKER_EXPORTED int execlp(const char* file, const char* first, ...) noexcept {
  STOKER_TAKE_WORDS(words);
  va_end(list);
  return stoker::exec_found(file, words, environ);
}

STOKER_EXPORTED int execle(const char* path, const char* first, ...) noexcept {
  STOKER_TAKE_WORDS(words);
  char* const* const environment = va_arg(list, char* const*);
  va_end(list);
  return stoker::exec_path(path, words, environment);
}

STOKER_EXPORTED int posix_spawn(pid_t* pid, const char* path,
                                const posix_spawn_file_actions_t* files,
                                const posix_spawnattr_t* attributes, char* const words[],
                                char* const environment[]) {
  const auto call = stoker::below<stoker::Spawn>("posix_spawn", stoker::g_spawn);
  return stoker::with_own(environment, [&](char* const* with) {
    return call(pid, path, files, attributes, words, with);
  });
}

STOKER_EXPORTED int posix_spawnp(pid_t* pid, const char* file,
                                 const posix_spawn_file_actions_t* files,
                                 const posix_spawnattr_t* attributes, char* const words[],
                                 char* const environment[]) {
  const auto call = stoker::below<stoker::Spawn>("posix_spawnp", stoker::g_spawnp);
  return stoker::with_own(environment, [&](char* const* with) {
    return call(pid, file, files, attributes, words, with);
  });
}

STOKER_EXPORTED void _exit(int code) { stoker::exit_now(code); }
STOKER_EXPORTED void _Exit(int code) noexcept { stoker::exit_now(code); }

// NOLINTEND(cert-dcl50-cpp,readability-inconsistent-declaration-parameter-name)

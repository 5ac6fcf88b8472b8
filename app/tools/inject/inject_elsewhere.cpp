#if !defined(__x86_64__)

#include "app/tools/inject/inject.h"
#include "io/core/error.h"

// For machines that are not x86-64.

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

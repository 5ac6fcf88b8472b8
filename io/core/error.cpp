#include "io/core/error.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "io/core/text/text.h"

namespace stoker {
namespace {

// What the user's system lacks or forbids.
constexpr int kMendable[] = {ENOENT, EACCES,  EPERM,  ENOSPC, EDQUOT, EROFS,
                             EFBIG,  ENOTDIR, EISDIR, EMFILE, ENFILE, ENOMEM};

ExitCode code_of(int errno_value) {
  const bool mendable = std::ranges::find(kMendable, errno_value) != std::end(kMendable);
  return mendable ? ExitCode::environment : ExitCode::storage;
}

// In the order of BadReason.
constexpr const char* kReasons[] = {"missing", "empty",     "not_an_image", "truncated",
                                    "corrupt", "too_large", "unsupported"};
static_assert(std::size(kReasons) == static_cast<size_t>(BadReason::unsupported) + 1);

}  // namespace

Error::Error(ExitCode code, const std::string& what)
    : std::runtime_error(readable(what)), code_(code) {}

BadSample::BadSample(BadReason reason, const std::string& what)
    : std::runtime_error(readable(what)), reason_(reason) {}

IoError::IoError(const std::string& what, int errno_value)
    : Error(code_of(errno_value), what), errno_(errno_value) {}

void throw_errno(const std::string& operation, const std::string& path, int errno_value) {
  throw IoError(operation + " " + path + ": " + std::generic_category().message(errno_value),
                errno_value);
}

bool is_absent(const IoError& error) {
  constexpr int kAbsent[] = {ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG};
  return std::ranges::find(kAbsent, error.errno_value()) != std::end(kAbsent);
}

const char* to_string(BadReason reason) { return kReasons[static_cast<size_t>(reason)]; }

}  // namespace stoker

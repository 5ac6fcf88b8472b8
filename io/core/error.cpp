#include "io/core/error.h"

#include <cerrno>
#include <system_error>

namespace stoker {
namespace {

ExitCode code_of(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case EACCES:
    case EPERM:
    case ENOSPC:
    case EDQUOT:
    case EROFS:
    case ENOTDIR:
    case EISDIR:
      return ExitCode::environment;
    default:
      return ExitCode::storage;
  }
}

}  // namespace

IoError::IoError(const std::string& what, int errno_value)
    : Error(code_of(errno_value), what), errno_(errno_value) {}

void throw_errno(const std::string& operation, const std::string& path, int errno_value) {
  throw IoError(operation + " " + path + ": " + std::generic_category().message(errno_value),
                errno_value);
}

const char* to_string(BadReason reason) {
  switch (reason) {
    case BadReason::missing:
      return "missing";
    case BadReason::io:
      return "io";
    case BadReason::empty:
      return "empty";
    case BadReason::not_an_image:
      return "not_an_image";
    case BadReason::truncated:
      return "truncated";
    case BadReason::corrupt:
      return "corrupt";
    case BadReason::too_large:
      return "too_large";
    case BadReason::unsupported:
      return "unsupported";
  }
  return "unknown";
}

}  // namespace stoker

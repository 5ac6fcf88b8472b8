#include "io/core/error.h"

#include <algorithm>
#include <cerrno>
#include <ios>
#include <iterator>
#include <new>
#include <string>
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

namespace {

bool out_of_memory(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return true;
  // LibTorch's allocator throws its general error.
  const std::string what = exception.what();
  return what.find("DefaultCPUAllocator: can't allocate memory") != std::string::npos;
}

}  // namespace

std::optional<Error> shortage(const std::exception& exception) {
  if (out_of_memory(exception)) {
    return Error(
        ExitCode::environment,
        "out of memory: raise the limit of this process or job (ulimit -v, memory.max), or lower "
        "loader.batch_size, loader.prefetch_batches or checkpoint.slots");
  }
  const auto* const failed = dynamic_cast<const std::system_error*>(&exception);
  if (failed == nullptr || failed->code().category() == std::iostream_category()) {
    return std::nullopt;
  }
  if (failed->code() == std::errc::resource_unavailable_try_again) {
    return Error(
        ExitCode::environment,
        "no more threads can be started: raise the limits of this user or job (ulimit -u and -v, "
        "pids.max), or lower loader.workers, training.threads or checkpoint.threads");
  }
  const IoError error(failed->what(), failed->code().value());
  return error.code() == ExitCode::environment ? std::optional<Error>(error) : std::nullopt;
}

bool is_shortage(const IoError& error) {
  const int value = error.errno_value();
  return value == EMFILE || value == ENFILE || value == ENOMEM;
}

}  // namespace stoker

#include "io/core/system/shortage.h"

#include <cerrno>
#include <ios>
#include <new>
#include <string>
#include <system_error>

namespace stoker {
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

#include "app/base/call_counts.h"

#include <dlfcn.h>

#include <filesystem>

#include "app/base/counted_calls.h"

namespace stoker {

std::optional<CallCounts> call_counts() {
  void* const found = ::dlsym(RTLD_DEFAULT, "stoker_counted_calls");
  if (found == nullptr) return std::nullopt;
  StokerCountedCalls counted{};
  reinterpret_cast<decltype(&stoker_counted_calls)>(found)(&counted);
  return CallCounts{counted.allocations, counted.libjpeg_allocations, counted.bytes_moved};
}

std::optional<std::string> call_counter() {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&call_counter), &own) == 0) return std::nullopt;
  std::error_code error;
  const auto library = std::filesystem::canonical(own.dli_fname, error).parent_path();
  const std::string path = library / "stoker" / "counted_calls.so";
  if (error || !std::filesystem::exists(path)) return std::nullopt;
  return path;
}

}  // namespace stoker

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "app/tools/inject/target_memory.h"

namespace stoker {

// The libraries of another process, as they lie in its memory: files may have been replaced since.
// A value, of one moment. Any thread.
class TargetObjects {
 public:
  // Error(ExitCode::environment) as target_mappings().
  TargetObjects(pid_t pid, const TargetMemory& memory);

  const std::vector<TargetMapping>& mappings() const { return mappings_; }
  // The mapping of an address.
  const TargetMapping* at(uint64_t address) const;
  // The path of the first object whose file name begins so ("libc.so.6"); empty: none.
  std::string find(const std::string& name) const;
  // Where the object of this path has a function of this name; absent: not, or it is not mapped.
  std::optional<uint64_t> function(const std::string& path, const std::string& name) const;
  // Where some code lies in the executable memory of the object.
  std::optional<uint64_t> code(const std::string& path, std::string_view bytes) const;
  // Whether the loader is neither adding nor removing an object. True where it does not say.
  bool loader_is_idle() const;

 private:
  uint64_t base(const std::string& path) const;

  const pid_t pid_;
  const TargetMemory& memory_;
  std::vector<TargetMapping> mappings_;
};

}  // namespace stoker

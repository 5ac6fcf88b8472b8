#include "io/profiler/records/file_record.h"

#include <span>

#include "io/profiler/counters/merge.h"

namespace stoker {
namespace {

using P = PosixCounters;

// Adds `now` to `before`. The commonest values are written from where they were counted.
template <class Record>
void put_aside(ModuleRecord<Record>* module) {
  if (module == nullptr || !module->in_now) return;
  merge(module->before, module->now.counters);
  module->in_before = true;
  module->in_now = false;
}

void write_common(const PosixRecord& record, CommonValues::Of of, P& out) {
  constexpr size_t kSize = 2 * CommonValues::kShown;
  const std::span counters(out.counters);
  record.strides.write(of, counters.subspan<P::STRIDE1_STRIDE, kSize>());
  record.sizes.write(of, counters.subspan<P::ACCESS1_ACCESS, kSize>());
}

}  // namespace

void begin_part(FileRecord& file) {
  put_aside(file.posix);
  put_aside(file.stdio);
  if (file.posix != nullptr) {
    PosixRecord& now = file.posix->now;
    const int64_t memory = now.counters.counters[P::MEM_ALIGNMENT];
    const int64_t block = now.counters.counters[P::FILE_ALIGNMENT];
    now.counters = {};
    now.counters.counters[P::MEM_ALIGNMENT] = memory;
    now.counters.counters[P::FILE_ALIGNMENT] = block;
    now.sizes.restart();
    now.strides.restart();
  }
  if (file.stdio != nullptr) file.stdio->now.counters = {};
}

std::optional<PosixCounters> of_part(const ModuleRecord<PosixRecord>* module) {
  if (module == nullptr || !module->in_now) return std::nullopt;
  PosixCounters counters = module->now.counters;
  write_common(module->now, CommonValues::Of::part, counters);
  return counters;
}

std::optional<StdioCounters> of_part(const ModuleRecord<StdioRecord>* module) {
  if (module == nullptr || !module->in_now) return std::nullopt;
  return module->now.counters;
}

std::optional<PosixCounters> of_all(const ModuleRecord<PosixRecord>* module) {
  if (module == nullptr || !(module->in_now || module->in_before)) return std::nullopt;
  PosixCounters counters = module->before;
  merge(counters, module->now.counters);
  write_common(module->now, CommonValues::Of::all, counters);
  return counters;
}

std::optional<StdioCounters> of_all(const ModuleRecord<StdioRecord>* module) {
  if (module == nullptr || !(module->in_now || module->in_before)) return std::nullopt;
  StdioCounters counters = module->before;
  merge(counters, module->now.counters);
  return counters;
}

}  // namespace stoker

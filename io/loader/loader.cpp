#include "io/loader/loader.h"

#include "io/core/system/usable_cores.h"

namespace stoker {

template <>
Registry<Loader>& Registry<Loader>::global() {
  static Registry registry;
  return registry;
}

EnumNames<SampleOrder> enum_names(SampleOrder) {
  return {{"permutation", SampleOrder::permutation},   {"window", SampleOrder::window},
          {"local_files", SampleOrder::local_files},   {"global_files", SampleOrder::global_files},
          {"local_window", SampleOrder::local_window}, {"shards", SampleOrder::shards}};
}

int64_t thread_count(const AutoCount& threads) {
  return threads.count > 0 ? threads.count : usable_cores();
}

}  // namespace stoker

#include "io/loader/loader.h"

#include "io/core/error.h"
#include "io/core/system/usable_cores.h"
#include "io/loader/loader_options.h"

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

EnumNames<Filling> enum_names(Filling) {
  return {{"together", Filling::together}, {"apart", Filling::apart}};
}

void LoaderOptions::check(const Section& section) const {
  if (order != SampleOrder::permutation && !shuffle) {
    section.fail("order",
                 "says how samples are shuffled, and shuffle is false: set "
                 "loader.order=permutation, or leave shuffle out");
  }
  if (single_file_stays && order != SampleOrder::global_files) {
    section.fail("single_file_stays", "is for order: global_files: set that, or leave it out");
  }
  if (order != SampleOrder::shards && (cycle_length != 1 || block_length != 1)) {
    section.fail(cycle_length != 1 ? "cycle_length" : "block_length",
                 "is for order: shards: set that, or leave it out");
  }
}

void LoaderOptions::check_in_order(const Section& section) const {
  if (in_order) return;
  section.fail("in_order",
               "can be false only where several batches are filled at a time: set loader.type to "
               "prefetched or device_prefetched, or leave it out");
}

LoaderInfo LoaderOptions::info(int64_t host_batches_ahead, int64_t device_batches_ahead) const {
  return {.batch_size = batch_size,
          .workers = thread_count(workers),
          .host_batches_ahead = host_batches_ahead,
          .device_batches_ahead = device_batches_ahead,
          .drop_last = drop_last,
          .order = order,
          .shuffle = shuffle,
          .digest = digest};
}

Device& needed_device(const Loader::Inputs& inputs) {
  if (inputs.device != nullptr) return *inputs.device;
  throw Error(ExitCode::config,
              "this loader moves batches to a device, and there is none here: set loader.type to "
              "prefetched");
}

}  // namespace stoker

#pragma once

#include <cstdint>
#include <string>

#include "io/core/batch.h"
#include "io/core/memory.h"
#include "io/decoder/decoder.h"
#include "io/device/device.h"

// What devices without CUDA share. Any thread.

namespace stoker {

// Ordinary memory, aligned to 64 bytes (2 MiB and on huge pages where it is large) and faulted in,
// so that the first batch is not slower than the others. Throws std::bad_alloc.
HostMemory allocate_host(size_t bytes);

// The batch's pixels and labels as tensors over its own memory: no copy. The tensors keep the slot.
DeviceBatch view_batch(const Batch& batch, const SampleSpec& spec);

// "model name" of /proc/cpuinfo.
std::string cpu_name();

}  // namespace stoker

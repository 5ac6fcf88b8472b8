#pragma once

#include <cstdint>

namespace stoker {

// What lies at an address that somebody told as a number: the loader, an object, the kernel.
template <class T>
T* at_address(uint64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace stoker

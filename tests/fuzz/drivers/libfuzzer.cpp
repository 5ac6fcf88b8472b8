#include <cstdint>

#include "tests/fuzz/target.h"

// What libFuzzer calls with each input: the one target of this program.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stoker::fuzz::run(*stoker::fuzz::targets().front(), {data, size});
  return 0;
}

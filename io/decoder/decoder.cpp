#include "io/decoder/decoder.h"

namespace stoker {

template <>
Registry<Decoder>& Registry<Decoder>::global() {
  static Registry<Decoder> registry;
  return registry;
}

}  // namespace stoker

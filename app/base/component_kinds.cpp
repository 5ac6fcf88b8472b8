#include "app/base/component_kinds.h"

namespace stoker {

OtherHalf& other_half() {
  static OtherHalf half;
  return half;
}

}  // namespace stoker

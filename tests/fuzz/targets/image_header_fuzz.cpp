#include "io/decoder/image_header.h"
#include "tests/fuzz/target.h"

STOKER_FUZZ_TARGET(image_header) {
  using namespace stoker;
  const ImageHeader header = read_image_header(input);
  fuzz::require(
      header.width >= 1 && header.height >= 1 && header.orientation >= 1 && header.orientation <= 8,
      "a header that there is not");
}

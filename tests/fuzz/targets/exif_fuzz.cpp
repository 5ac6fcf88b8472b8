#include "io/decoder/exif.h"
#include "tests/fuzz/target.h"

STOKER_FUZZ_TARGET(exif) {
  const int orientation = stoker::exif_orientation(input);
  stoker::fuzz::require(orientation >= 1 && orientation <= 8, "an orientation that there is not");
}

#include <algorithm>

#include "io/core/error.h"
#include "io/loader/lmdbio/database/datum.h"
#include "tests/fuzz/target.h"

// What is known of a Datum by its ends is what is known by all of it; an image lies in it.
STOKER_FUZZ_TARGET(datum) {
  using namespace stoker;
  Buffer value;
  std::ranges::copy(input, value.resize(input.size()));
  const Datum whole = read_datum(input);
  fuzz::require(
      whole.data_offset <= input.size() && whole.data_bytes <= input.size() - whole.data_offset,
      "data that lie outside");
  const size_t end = std::min<size_t>(input.size(), 8);
  if (const auto ends = read_datum({input.first(end), input.last(end), input.size()})) {
    fuzz::require(ends->label == whole.label && ends->data_offset == whole.data_offset &&
                      ends->data_bytes == whole.data_bytes && ends->encoded == whole.encoded &&
                      ends->floats == whole.floats,
                  "the ends say something else");
  }
  const Bytes image = datum_image(value);
  fuzz::require(image.size() <= 3 * input.size(), "an image that is too large");
}

#include "io/decoder/jpeg_header.h"
#include "io/jpeg/jpeg_frame.h"
#include "tests/fuzz/target.h"

STOKER_FUZZ_TARGET(jpeg_header) {
  using namespace stoker;
  std::vector<JpegSegment> segments;
  const JpegHeader header = read_jpeg_header(input, &segments);
  fuzz::require(header.width >= 1 && header.height >= 1 && header.components >= 1 &&
                    header.orientation >= 1 && header.orientation <= 8 &&
                    header.first_scan <= input.size(),
                "a header that there is not");
  fuzz::require(count_jpeg_scans(input, header).count >= 1, "an image without a scan");
  JpegFrame frame;
  (void)frame.assign(header, segments);
  check_decodable(header);
}

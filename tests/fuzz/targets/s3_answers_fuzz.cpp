#include "io/storage/object/s3_answers.h"
#include "tests/fuzz/target.h"

// An error of S3 is text in any case, and what a listing holds is no more than the document has.
STOKER_FUZZ_TARGET(s3_answers) {
  using namespace stoker;
  const std::string_view xml = fuzz::text(input);
  const S3Error error = parse_s3_error(xml);
  fuzz::require(error.message.size() <= 200, "a long message");
  try {
    (void)parse_s3_upload_id(xml);
  } catch (const std::exception&) {
  }
  const S3Listing listing = parse_s3_listing(xml);
  size_t bytes = listing.next.size();
  for (const S3Listing::Object& object : listing.objects) {
    fuzz::require(!object.key.empty(), "an object without a key");
    bytes += object.key.size() + object.etag.size();
  }
  fuzz::require(bytes <= xml.size(), "more than there is");
}

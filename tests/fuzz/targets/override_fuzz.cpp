#include "io/core/config/config.h"
#include "io/core/config/node.h"
#include "io/http/address.h"
#include "tests/fuzz/target.h"

// An argument of the command line, "a.b=c", and the texts that stand for sizes, paths and
// addresses.
STOKER_FUZZ_TARGET(override) {
  using namespace stoker;
  const std::string text(fuzz::text(input));
  ByteSize size;
  if (Scalar<ByteSize>::parse(text, size)) {
    ByteSize again;
    fuzz::require(
        Scalar<ByteSize>::parse(Scalar<ByteSize>::format(size), again) && again.bytes == size.bytes,
        "a size changes when it is read again");
  }
  HttpAddress address;
  if (Scalar<HttpAddress>::parse(text, address)) {
    HttpAddress again;
    fuzz::require(Scalar<HttpAddress>::parse(Scalar<HttpAddress>::format(address), again) &&
                      again.host == address.host && again.port == address.port,
                  "an address changes when it is read again");
  }
  Path path;
  (void)Scalar<Path>::parse(text, path);
  Node root = parse_yaml("{a: [1, {b: 2}], c: {d: x}, e: null}", "fuzz.yaml");
  apply_override(root, text);
}

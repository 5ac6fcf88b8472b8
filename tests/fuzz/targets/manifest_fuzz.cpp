#include "io/checkpoint/sets/manifest.h"
#include "io/core/digest.h"
#include "tests/fuzz/target.h"

namespace stoker {
namespace {

// The input without its last brace, and behind it the SHA-256 that agrees.
std::string signed_manifest(std::string_view json) {
  if (json.ends_with('}')) json.remove_suffix(1);
  const std::string body = std::string(json) + ",\n";
  Digest sum(Digest::Kind::sha256);
  sum.update({reinterpret_cast<const uint8_t*>(body.data()), body.size()});
  return body + "  \"sha256\": \"" + sum.finish() + "\"\n}\n";
}

}  // namespace
}  // namespace stoker

// Whoever copies tensors out of a set trusts its pieces.
STOKER_FUZZ_TARGET(manifest) {
  using namespace stoker;
  const Manifest manifest = parse_manifest(signed_manifest(fuzz::text(input)));
  const SetLayout& layout = manifest.layout;
  fuzz::require(manifest.tensor_sums.size() == layout.tensors.size() &&
                    layout.files.size() <= manifest.files.size(),
                "a manifest that contradicts itself");
  for (const DataFile& file : layout.files) {
    for (const TensorPiece& piece : file.pieces) {
      fuzz::require(piece.tensor < layout.tensors.size() && piece.offset <= file.bytes &&
                        piece.bytes <= file.bytes - piece.offset &&
                        piece.begin <= layout.tensors[piece.tensor].bytes &&
                        piece.bytes <= layout.tensors[piece.tensor].bytes - piece.begin,
                    "a piece outside of its file or tensor");
    }
  }
  (void)tf_saver_texts(manifest);
}

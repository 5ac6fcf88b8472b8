#include "io/core/error.h"
#include "io/decoder/decoder_options.h"

namespace stoker {
namespace {

struct DiscardOptions {
  template <class V>
  void visit(V&) {}
  SampleSpec spec() const { return {1, 1, 1, PixelType::uint8}; }
  DecoderInfo info() const { return {}; }
};

// Only reads: it looks at nothing of a file but its first byte, which becomes the one grey pixel of
// the sample.
class DiscardSession final : public DecoderSession {
 public:
  explicit DiscardSession(const DiscardOptions&) {}
  void decode(Bytes encoded, const DecodeMode&, uint8_t* out) override {
    if (encoded.empty()) throw BadSample(BadReason::empty, "the file has no bytes");
    *out = encoded.front();
  }
};

using Discard = SessionDecoder<DiscardOptions, DiscardSession>;

STOKER_REGISTER(Decoder, "discard", Discard);

}  // namespace
}  // namespace stoker

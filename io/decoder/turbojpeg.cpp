#include "io/decoder/jpeg_session.h"

namespace stoker {
namespace {

// libjpeg-turbo for all that it knows.
struct TurboSession final : JpegSession {
  explicit TurboSession(const JpegOptions& options) : JpegSession(options, nullptr) {}
};
using TurboJpeg = SessionDecoder<DecodedBy<JpegBy::libjpeg>, TurboSession>;

STOKER_REGISTER(Decoder, "turbojpeg", TurboJpeg);

}  // namespace
}  // namespace stoker

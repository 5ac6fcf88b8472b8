#include "io/jpeg/baseline_decoder.h"

#if defined(__x86_64__)
#include "io/jpeg/sample_planes.h"
#include "io/jpeg/scan_decoder.h"
#endif

namespace stoker {

#if defined(__x86_64__)
namespace {

class Avx2BaselineDecoder final : public BaselineDecoder {
 public:
  PixelRows* decode(Bytes file, const JpegHeader& header, std::span<const JpegSegment> segments,
                    const Rect& needed, int64_t reduction) override {
    if (!frame_.assign(header, segments)) return nullptr;
    const JpegPlanes* planes = planes_.assign(frame_, reduction);
    if (planes == nullptr ||
        !scan_.assign(file.subspan(header.first_scan), frame_.restart_interval != 0) ||
        !decoder_.decode(frame_, scan_, SamplePlanes::mcus_of(needed, frame_), *planes)) {
      return nullptr;
    }
    return planes_.rows(needed);
  }

 private:
  JpegFrame frame_;
  ScanBytes scan_;
  ScanDecoder decoder_;
  SamplePlanes planes_;
};

}  // namespace

std::unique_ptr<BaselineDecoder> BaselineDecoder::create() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return nullptr;
  return std::make_unique<Avx2BaselineDecoder>();
}

#else

std::unique_ptr<BaselineDecoder> BaselineDecoder::create() { return nullptr; }

#endif

}  // namespace stoker

#include "io/decoder/jpeg/progressive/progressive_decoder.h"

#include <algorithm>
#include <optional>
#include <vector>

#if defined(__x86_64__)
#include "io/decoder/jpeg/progressive/coefficients.h"
#include "io/decoder/jpeg/progressive/progression.h"
#include "io/decoder/jpeg/progressive/spectral_decoder.h"
#include "io/decoder/jpeg/sample_planes.h"
#include "io/decoder/jpeg/scan_bytes.h"
#endif

namespace stoker {

#if defined(__x86_64__)
namespace {

// What follows a scan.
enum class Behind { scan, end, unusual };

class Avx2ProgressiveDecoder final : public ProgressiveDecoder {
 public:
  PixelRows* decode(Bytes file, const JpegHeader& header, std::span<const JpegSegment> segments,
                    const Rect& needed, int64_t reduction) override {
    if (!frame_.assign_progressive(header, segments)) return nullptr;
    const JpegPlanes* planes = planes_.assign(frame_, reduction);
    if (planes == nullptr) return nullptr;
    const McuRect mcus = SamplePlanes::mcus_of(needed, frame_);
    coefficients_.assign(frame_);
    rest_ = file.subspan(header.first_scan);
    if (!decode_scans(segments.back().payload, mcus.bottom) || !refine(mcus.bottom) ||
        !coefficients_.to_samples(frame_, mcus, *planes)) {
      return nullptr;
    }
    return planes_.rows(needed);
  }

 private:
  // A scan that refines AC coefficients, which waits for another one.
  struct Waiting {
    JpegFrame frame;  // with its tables
    ProgressiveScan scan;
    ScanBytes bytes;
  };

  // All but the refinements of AC coefficients, which nothing else waits for.
  bool decode_scans(Bytes scan_header, size_t bottom) {
    Progression progression;
    ProgressiveScan scan;
    waiting_count_ = 0;
    for (;;) {
      if (!scan.assign(frame_, scan_header) || !progression.take(scan)) return false;
      const bool waits = scan.refines() && !scan.of_dc();
      if (waits && waiting_count_ == waiting_.size()) waiting_.emplace_back();
      ScanBytes& bytes = waits ? waiting_[waiting_count_].bytes : bytes_;
      const std::optional<size_t> end =
          bytes.assign_up_to_marker(rest_, frame_.restart_interval != 0);
      if (!end) return false;
      if (waits) {
        waiting_[waiting_count_].frame = frame_;
        waiting_[waiting_count_++].scan = scan;
      } else if (!decoder_.decode(frame_, scan, bytes, bottom, coefficients_)) {
        return false;
      }
      rest_ = rest_.subspan(*end);
      switch (read_on(scan_header)) {
        case Behind::scan:
          break;
        case Behind::end:
          return progression.complete(frame_.components);
        case Behind::unusual:
          return false;
      }
    }
  }

  // By two, those of a component in their order.
  bool refine(size_t bottom) {
    const std::span scans = std::span(waiting_).first(waiting_count_);
    std::ranges::stable_sort(scans, {}, [](const Waiting& one) { return one.scan.component[0]; });
    for (size_t i = 0; i < scans.size(); i += 2) {
      const auto begin = [&](SpectralDecoder& decoder, const Waiting& one) {
        return decoder.begin(one.frame, one.scan, one.bytes, bottom, coefficients_);
      };
      if (i + 1 == scans.size()) {
        return decoder_.decode(scans[i].frame, scans[i].scan, scans[i].bytes, bottom,
                               coefficients_);
      }
      if (!begin(decoder_, scans[i]) || !begin(second_, scans[i + 1]) ||
          !SpectralDecoder::refine(decoder_, second_)) {
        return false;
      }
    }
    return true;
  }

  // Reads the segments behind a scan, the next one's header included.
  Behind read_on(Bytes& scan_header) {
    for (;;) {
      if (rest_.size() < 2 || rest_[0] != 0xff) return Behind::unusual;
      const uint8_t marker = rest_[1];
      if (marker == 0xd9) return Behind::end;
      if (rest_.size() < 4) return Behind::unusual;
      const size_t length = size_t{rest_[2]} << 8 | rest_[3];
      if (length < 2 || length > rest_.size() - 2) return Behind::unusual;
      const Bytes payload = rest_.subspan(4, length - 2);
      rest_ = rest_.subspan(2 + length);
      if (marker == 0xda) {
        scan_header = payload;
        return Behind::scan;
      }
      if (!read_segment(marker, payload)) return Behind::unusual;
    }
  }

  bool read_segment(uint8_t marker, Bytes payload) {
    if (marker == 0xc4) return frame_.define_huffman(payload);
    if (marker != 0xdd || payload.size() != 2) return false;
    frame_.restart_interval = static_cast<size_t>(payload[0] << 8 | payload[1]);
    return true;
  }

  JpegFrame frame_;
  Bytes rest_;  // of the file, from the next byte that is to be read
  ScanBytes bytes_;
  SpectralDecoder decoder_;
  SpectralDecoder second_;
  std::vector<Waiting> waiting_;  // keeps its memory
  size_t waiting_count_ = 0;
  Coefficients coefficients_;
  SamplePlanes planes_;
};

}  // namespace

std::unique_ptr<ProgressiveDecoder> ProgressiveDecoder::create() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") ||
      !__builtin_cpu_supports("popcnt")) {
    return nullptr;
  }
  return std::make_unique<Avx2ProgressiveDecoder>();
}

#else

std::unique_ptr<ProgressiveDecoder> ProgressiveDecoder::create() { return nullptr; }

#endif

}  // namespace stoker

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "io/jpeg/decoders.h"

#if defined(__x86_64__)
#include "io/jpeg/progressive/coefficients.h"
#include "io/jpeg/progressive/progression.h"
#include "io/jpeg/progressive/spectral_decoder.h"
#include "io/jpeg/sample_planes.h"
#include "io/jpeg/scan_bytes.h"
#endif

namespace stoker {

#if defined(__x86_64__)
namespace {

// The most scans that wait. Each has memory of the file's size, though it touches little of that.
constexpr size_t kMaxWaiting = 24;

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
    if (!read_scans(segments.back().payload, mcus.bottom) || !decode_waiting(mcus.bottom) ||
        !coefficients_.to_samples(frame_, mcus, *planes)) {
      return nullptr;
    }
    return planes_.rows(needed);
  }

 private:
  // A scan of AC coefficients, which waits for others.
  struct Waiting {
    JpegFrame frame;  // with its tables
    ProgressiveScan scan;
    ScanBytes bytes;
  };

  // Scans of DC coefficients are decoded at once. The last of the other scans wait.
  bool read_scans(Bytes scan_header, size_t bottom) {
    Progression progression;
    ProgressiveScan scan;
    waiting_count_ = 0;
    for (;;) {
      if (!scan.assign(frame_, scan_header) || !progression.take(scan)) return false;
      if (waiting_count_ == kMaxWaiting && !decode_waiting(bottom)) return false;
      if (waiting_count_ == waiting_.size()) waiting_.emplace_back();
      Waiting& waiting = waiting_[waiting_count_];
      const std::optional<size_t> end =
          waiting.bytes.assign_up_to_marker(rest_, frame_.restart_interval != 0);
      if (!end) return false;
      if (!scan.of_dc()) {
        waiting.frame = frame_;
        waiting.scan = scan;
        ++waiting_count_;
      } else if (!older_->decode_dc(frame_, scan, waiting.bytes, bottom, coefficients_)) {
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

  // Always two of them, as far as they do not wait for each other.
  bool decode_waiting(size_t bottom) {
    order_.clear();
    for (const bool refines : {false, true}) {
      for (size_t c = 0; c < frame_.components; ++c) {
        for (size_t i = 0; i < waiting_count_; ++i) {
          const ProgressiveScan& scan = waiting_[i].scan;
          if (scan.refines() == refines && scan.component[0] == c) order_.push_back(i);
        }
      }
    }
    bool begun = false;
    for (const size_t i : order_) {
      const auto& [frame, scan, bytes] = waiting_[i];
      if (begun && older_->refines() != scan.refines()) {
        if (!older_->finish_ac()) return false;
        begun = false;
      }
      SpectralDecoder& next = begun ? *newer_ : *older_;
      if (!next.begin_ac(frame, scan, bytes, bottom, coefficients_)) return false;
      if (begun && !SpectralDecoder::decode_ac(*older_, *newer_)) return false;
      if (begun && older_->finished()) std::swap(older_, newer_);
      begun = true;
    }
    waiting_count_ = 0;
    return !begun || older_->finish_ac();
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
  Bytes rest_;                    // of the file, from the next byte that is to be read
  std::vector<Waiting> waiting_;  // keeps its memory
  size_t waiting_count_ = 0;      // of the first ones
  std::vector<size_t> order_;
  std::array<SpectralDecoder, 2> decoders_;
  SpectralDecoder* older_ = &decoders_[0];
  SpectralDecoder* newer_ = &decoders_[1];
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

#include "io/jpeg/jpeg_frame.h"

#include <cstring>
#include <numeric>

namespace stoker {
namespace {

constexpr int64_t kMaxSide = 65500;  // libjpeg's

class SegmentReader {
 public:
  SegmentReader(JpegFrame& frame, bool progressive) : frame_(frame), progressive_(progressive) {}

  bool read(const JpegSegment& segment) {
    const Bytes payload = segment.payload;
    switch (segment.marker) {
      case 0xc0:
      case 0xc1:
      case 0xc2:
        return read_frame(payload);
      case 0xc4:
        return frame_.define_huffman(payload);
      case 0xda:
        return progressive_ ? has_quantisation() : read_scan(payload);
      case 0xdb:
        return read_quantisation(payload);
      case 0xdd:
        if (payload.size() != 2) return false;
        frame_.restart_interval = static_cast<size_t>(payload[0] << 8 | payload[1]);
        return true;
      case 0xe0:
        return read_jfif(payload);
      case 0xee:
        return read_adobe(payload);
      default:
        return (segment.marker >= 0xe0 && segment.marker <= 0xef) || segment.marker == 0xfe;
    }
  }

  // libjpeg's rule: a JFIF file is YCbCr, else Adobe's segment says it, else the components' names.
  bool finish() const {
    if (frame_.components == 1) return true;
    if (adobe_) return adobe_transform_ == 1;
    const std::array<uint8_t, 3> rgb{'R', 'G', 'B'};
    return jfif_ || ids_ != rgb;
  }

 private:
  bool read_frame(Bytes payload) {
    const size_t count = payload[5];
    if (count != 1 && count != 3) return false;
    frame_.components = count;
    std::array<int, 3> sampling{};
    for (size_t i = 0; i < count; ++i) {
      const uint8_t* component = payload.data() + 6 + 3 * i;
      ids_[i] = frame_.component[i].id = component[0];
      sampling[i] = component[1];
      if (component[2] > 3) return false;
      frame_.component[i].quantisation = component[2];
    }
    if (count == 1) {
      frame_.sampling = ChromaSampling::gray;
      return sampling[0] == 0x11 || sampling[0] == 0x22;
    }
    if (sampling[1] != 0x11 || sampling[2] != 0x11) return false;
    if (ids_[0] == ids_[1] || ids_[0] == ids_[2] || ids_[1] == ids_[2]) return false;
    if (sampling[0] == 0x11) frame_.sampling = ChromaSampling::s444;
    if (sampling[0] == 0x21) frame_.sampling = ChromaSampling::s422;
    if (sampling[0] == 0x22) frame_.sampling = ChromaSampling::s420;
    return sampling[0] == 0x11 || sampling[0] == 0x21 || sampling[0] == 0x22;
  }

  bool read_quantisation(Bytes payload) {
    while (payload.size() >= 65) {
      const uint8_t slot = payload[0];
      if (slot > 3) return false;  // 16 bits
      for (size_t i = 0; i < 64; ++i) {
        if (payload[1 + i] == 0) return false;
        frame_.quantisation[slot][i] = payload[1 + i];
      }
      quantisation_seen_[slot] = true;
      payload = payload.subspan(65);
    }
    return payload.empty();
  }

  bool has_quantisation() const {
    for (size_t i = 0; i < frame_.components; ++i) {
      if (!quantisation_seen_[frame_.component[i].quantisation]) return false;
    }
    return true;
  }

  bool read_scan(Bytes payload) {
    const size_t count = frame_.components;
    if (payload.size() != 4 + 2 * count || payload[0] != count) return false;
    for (size_t i = 0; i < count; ++i) {
      JpegFrame::Component& component = frame_.component[i];
      const uint8_t tables = payload[2 + 2 * i];
      component.dc_table = tables >> 4;
      component.ac_table = tables & 15;
      if (payload[1 + 2 * i] != ids_[i] || component.dc_table > 3 || component.ac_table > 3 ||
          frame_.dc_tables[tables >> 4].empty() || frame_.ac_tables[tables & 15].empty() ||
          !quantisation_seen_[component.quantisation]) {
        return false;
      }
    }
    const uint8_t* spectral = payload.data() + 1 + 2 * count;
    return spectral[0] == 0 && spectral[1] == 63 && spectral[2] == 0;
  }

  // Another version is a warning of libjpeg's.
  bool read_jfif(Bytes payload) {
    if (payload.size() < 5 || std::memcmp(payload.data(), "JFIF", 5) != 0) return true;
    jfif_ = true;
    return payload.size() >= 14 && payload[5] == 1;
  }

  bool read_adobe(Bytes payload) {
    if (payload.size() < 5 || std::memcmp(payload.data(), "Adobe", 5) != 0) return true;
    adobe_ = true;
    if (payload.size() < 12) return false;
    adobe_transform_ = payload[11];
    return true;
  }

  JpegFrame& frame_;
  const bool progressive_;
  std::array<uint8_t, 3> ids_{};
  std::array<bool, 4> quantisation_seen_{};
  bool jfif_ = false;
  bool adobe_ = false;
  int adobe_transform_ = 0;
};

}  // namespace

bool JpegFrame::assign(const JpegHeader& header, std::span<const JpegSegment> segments) {
  if (header.process != JpegProcess::baseline && header.process != JpegProcess::extended) {
    return false;
  }
  return header.one_scan && assign_segments(header, segments, false);
}

bool JpegFrame::assign_progressive(const JpegHeader& header,
                                   std::span<const JpegSegment> segments) {
  return header.process == JpegProcess::progressive && assign_segments(header, segments, true);
}

bool JpegFrame::assign_segments(const JpegHeader& header, std::span<const JpegSegment> segments,
                                bool progressive) {
  if (header.precision != 8) return false;
  if (header.width > kMaxSide || header.height > kMaxSide) return false;
  width = header.width;
  height = header.height;
  components = 0;
  restart_interval = 0;
  dc_tables.fill({});
  ac_tables.fill({});
  SegmentReader reader(*this, progressive);
  for (const JpegSegment& segment : segments) {
    if (!reader.read(segment)) return false;
  }
  return reader.finish();
}

bool JpegFrame::define_huffman(Bytes payload) {
  while (payload.size() >= 17) {
    const uint8_t slot = payload[0];
    const size_t symbols = std::accumulate(payload.begin() + 1, payload.begin() + 17, size_t{0});
    if ((slot & 0xef) > 3 || symbols > 256 || symbols > payload.size() - 17) return false;
    auto& tables = (slot & 0x10) != 0 ? ac_tables : dc_tables;
    tables[slot & 3] = payload.subspan(1, 16 + symbols);
    payload = payload.subspan(17 + symbols);
  }
  return payload.empty();
}

McuSize mcu_size(ChromaSampling sampling) {
  const bool wide = sampling == ChromaSampling::s422 || sampling == ChromaSampling::s420;
  return {wide ? size_t{16} : 8, sampling == ChromaSampling::s420 ? size_t{16} : 8};
}

McuGrid mcu_grid(const JpegFrame& frame) {
  const McuSize mcu = mcu_size(frame.sampling);
  return {(static_cast<size_t>(frame.width) + mcu.width - 1) / mcu.width,
          (static_cast<size_t>(frame.height) + mcu.height - 1) / mcu.height};
}

}  // namespace stoker

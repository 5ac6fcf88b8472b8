#include "io/decoder/jpeg/scan_decoder.h"

#if defined(__x86_64__)

#include <algorithm>

namespace stoker {
namespace {

// Where samples of 8 bits are far away from, and 16 bits still compute with exactly.
bool is_plausible_dc(int dequantised) { return dequantised > -8192 && dequantised < 8192; }

}  // namespace

static_assert(BlockDecoder::kMaxBytes <= ScanBytes::kSlack);

bool ScanDecoder::assign_tables(const JpegFrame& frame) {
  block_count_ = 0;
  for (size_t c = 0; c < frame.components; ++c) {
    const JpegFrame::Component& component = frame.component[c];
    // Cb and Cr mostly share theirs, which takes half of the cache then.
    const bool shared = c == 2 && component.dc_table == frame.component[1].dc_table &&
                        component.ac_table == frame.component[1].ac_table;
    BlockTables& tables = tables_[shared ? 1 : c];
    if (!shared &&
        !tables.assign(frame.dc_tables[component.dc_table], frame.ac_tables[component.ac_table])) {
      return false;
    }
    const McuSize mcu = c == 0 ? mcu_size(frame.sampling) : McuSize{};
    for (size_t y = 0; y < mcu.height; y += 8) {
      for (size_t x = 0; x < mcu.width; x += 8) {
        blocks_[block_count_++] = {
            &tables, frame.quantisation[component.quantisation].data(), c, mcu, x, y};
      }
    }
  }
  for (size_t i = 0; i < BlockDecoder::kMaxBlocks; ++i) {
    decoder_.set_tables(i, *blocks_[i % block_count_].tables);
  }
  return true;
}

bool ScanDecoder::decode_mcus(size_t count) {
  if (!within_segment() || !decoder_.decode(bits_, count * block_count_)) return false;
  for (size_t mcu = 0, i = 0; mcu < count; ++mcu) {
    for (size_t b = 0; b < block_count_; ++b, ++i) {
      int& prediction = predictions_[blocks_[b].component];
      prediction += decoder_.values(i)[0];
      if (!is_plausible_dc(prediction * blocks_[b].quantisation[0])) return false;
      decoder_.values(i)[0] = static_cast<int16_t>(prediction);
    }
  }
  return true;
}

bool ScanDecoder::skip_mcus(size_t count) {
  if (!within_segment() || !decoder_.skip(bits_, count * block_count_)) return false;
  for (size_t b = 0; b < block_count_; ++b) {
    int& prediction = predictions_[blocks_[b].component];
    for (size_t mcu = 0; mcu < count; ++mcu) {
      prediction += decoder_.values(mcu * block_count_ + b)[0];
    }
    if (!is_plausible_dc(prediction * blocks_[b].quantisation[0])) return false;
  }
  return true;
}

void ScanDecoder::store(size_t i, size_t x, size_t y, const JpegPlanes& planes) {
  for (size_t b = 0; b < block_count_; ++b, ++i) {
    const BlockPlace& place = blocks_[b];
    const JpegPlane& plane = planes.planes[place.component];
    uint8_t* out = plane.data + (place.mcu.height * y + place.y) * plane.stride +
                   place.mcu.width * x + place.x;
    const int16_t* values = decoder_.values(i);
    const int last = decoder_.last(i);
    if (last == 0) {
      inverse_dcts_.dc_only(values[0] * place.quantisation[0], out, plane.stride);
    } else {
      // Positions below 10 are those with row + column < 4.
      const InverseDct inverse = last < 10 ? inverse_dcts_.top_left_4x4 : inverse_dcts_.full;
      inverse(values, place.quantisation, out, plane.stride);
    }
  }
}

bool ScanDecoder::next_segment() {
  if (!at_segment_end() || in_last_segment()) return false;
  bits_.start(scan_->data() + scan_->ends()[segment_]);
  ++segment_;
  predictions_ = {};
  return true;
}

bool ScanDecoder::decode(const JpegFrame& frame, const ScanBytes& scan, const McuRect& needed,
                         const JpegPlanes& planes) {
  if (!assign_tables(frame)) return false;
  scan_ = &scan;
  bits_.start(scan.data());
  segment_ = 0;
  predictions_ = {};
  const McuGrid grid = mcu_grid(frame);
  const size_t batch = BlockDecoder::kMaxBlocks / block_count_;
  size_t until_restart = frame.restart_interval;
  for (size_t y = 0; y < needed.bottom; ++y) {
    const bool is_last = y + 1 == needed.bottom && needed.bottom < grid.rows;
    const size_t columns = is_last ? needed.right : grid.columns;
    for (size_t x = 0; x < columns;) {
      const bool beside = y < needed.top || x >= needed.right;  // to the end of the row
      const bool skip = beside || x < needed.left;
      const size_t end = beside ? columns : skip ? needed.left : needed.right;
      size_t count = std::min(batch, end - x);
      if (frame.restart_interval != 0) {
        if (until_restart == 0) {
          if (!next_segment()) return false;
          until_restart = frame.restart_interval;
        }
        count = std::min(count, until_restart);
        until_restart -= count;
      }
      if (!(skip ? skip_mcus(count) : decode_mcus(count))) return false;
      for (size_t i = 0; i < count && !skip; ++i) store(i * block_count_, x + i, y, planes);
      x += count;
    }
  }
  if (needed.bottom < grid.rows) return within_segment();
  return at_segment_end() && in_last_segment();
}

}  // namespace stoker

#endif

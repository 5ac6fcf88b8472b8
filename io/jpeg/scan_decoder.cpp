#include "io/jpeg/scan_decoder.h"

#if defined(__x86_64__)

#include <algorithm>

#include "io/jpeg/block_order_avx2.h"
#include "io/jpeg/decoders.h"
#include "io/jpeg/sample_planes.h"

// How a scan becomes samples:
//
// 1. assign_blocks() says for each block of an MCU which tables decode it and where its samples go.
// 2. decode() goes through the scan in pieces of one row of MCUs, at most a batch of the block
//    decoder, and never beyond a restart marker or an edge of the part that is needed.
// 3. A piece that is not needed is passed over by skip_mcus(), which is faster: only the DC
//    differences matter, because later blocks build on them.
// 4. Otherwise decode_mcus() gives the coefficients. While a second decoder runs ahead in the same
//    loop (scan_ahead.cpp), the first one asks at each MCU whether they have met. If they have, it
//    takes over what is ready and goes on behind it.
// 5. predict() turns DC differences into values. They depend on all blocks before, so this is done
//    in the order of the scan, whoever decoded the blocks.
// 6. store() sorts the blocks by kind and transforms them while they are in the cache.
// 7. At the end the scan must be used up, but for padding. Anything that an encoder would not write
//    makes it fail, and libjpeg-turbo decodes the file instead.

namespace stoker {
namespace {

// Whether a dequantised DC value is one that samples of 8 bits may have. 16 bits still compute with
// it exactly.
bool is_plausible_dc(int dequantised) { return dequantised > -8192 && dequantised < 8192; }

// The least distance between two decoders. What is lost until they meet does not matter then.
constexpr uint64_t kMinBitsAhead = 8 * 1024;

}  // namespace

static_assert(BlockDecoder::kMaxBytes <= ScanBytes::kSlack);

bool ScanDecoder::assign_blocks(const JpegFrame& frame, const JpegPlanes& planes) {
  block_count_ = 0;
  for (size_t c = 0; c < frame.components; ++c) {
    const JpegFrame::Component& component = frame.component[c];
    // Cb and Cr mostly have the same tables. Using one copy halves what they take of the cache.
    const bool shared = c == 2 && component.dc_table == frame.component[1].dc_table &&
                        component.ac_table == frame.component[1].ac_table;
    BlockTables& tables = tables_[shared ? 1 : c];
    if (!shared &&
        !tables.assign(frame.dc_tables[component.dc_table], frame.ac_tables[component.ac_table])) {
      return false;
    }
    const McuSize mcu = c == 0 ? mcu_size(frame.sampling) : McuSize{};
    const JpegPlane& plane = planes.planes[c];
    const int16_t* quantisation = frame.quantisation[component.quantisation].data();
    const size_t across = mcu.width / 8 * plane.side;
    const size_t down = mcu.height / 8 * plane.side * plane.stride;
    for (size_t y = 0; y < mcu.height / 8; ++y) {
      for (size_t x = 0; x < mcu.width / 8; ++x) {
        uint8_t* const out = plane.data + (y * plane.stride + x) * plane.side;
        blocks_[block_count_++] = {
            &tables, c, {nullptr, quantisation, out, plane.stride, plane.side}, across, down};
      }
    }
  }
  for (size_t i = 0; i < BlockDecoder::kMaxBlocks; ++i) {
    decoder_.set_tables(i, *blocks_[i % block_count_].tables);
    ahead_.decoder().set_tables(i, *blocks_[i % block_count_].tables);
  }
  return true;
}

void ScanDecoder::start_ahead(size_t wanted) {
  const uint64_t used = bits_.used(scan_->data());
  const uint64_t left = segment_bits() - used;
  // The second decoder begins in the middle of what is wanted, if every MCU that is left has the
  // same number of bits: then both are done at the same time. Its memory may end before that.
  const double mcu_bits = static_cast<double>(left) / static_cast<double>(left_mcus_);
  const auto most = static_cast<double>(ScanAhead::kMaxBlocks / block_count_);
  const double distance = std::min(static_cast<double>(wanted) / 2, most) * mcu_bits;
  if (distance < kMinBitsAhead || left < kMinBitsAhead) return;
  ahead_.start(scan_->data(), (used + static_cast<uint64_t>(distance)) / 8, segment_bits(),
               block_count_);
}

bool ScanDecoder::decode_batch(size_t count) {
  decoder_.begin(bits_, count * block_count_);
  while (decoder_.state() == BlockDecoder::State::working) {
    if (ahead_.working()) {
      BlockDecoder::run(decoder_, ahead_.decoder());
      ahead_.advance();
    } else {
      decoder_.run();
    }
  }
  bits_ = decoder_.bits();
  return decoder_.state() == BlockDecoder::State::done;
}

int16_t* ScanDecoder::decode_mcus(size_t& count, size_t wanted) {
  if (!within_segment()) return nullptr;
  if (ready_ == 0 && !ahead_.active()) start_ahead(wanted);
  const uint64_t used = bits_.used(scan_->data());
  if (ahead_.active() && used >= ahead_.begin()) {
    ready_ = ahead_.meet(used, wanted);
    count = ready_ != 0 ? count : 1;  // one MCU at a time, so that each is a chance to meet
  }
  if (ready_ != 0) {
    count = std::min(count, ready_);
    ready_ -= count;
    if (ready_ == 0) bits_ = ahead_.end();
    return ahead_.take(count);
  }
  return decode_batch(count) ? decoder_.values(0) : nullptr;
}

bool ScanDecoder::predict(int16_t* blocks, size_t mcus) {
  for (size_t mcu = 0; mcu < mcus; ++mcu) {
    for (size_t b = 0; b < block_count_; ++b, blocks += 64) {
      int& prediction = predictions_[blocks_[b].component];
      prediction += blocks[0];
      if (!is_plausible_dc(prediction * blocks_[b].block.quantisation[0])) return false;
      blocks[0] = static_cast<int16_t>(prediction);
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
    if (!is_plausible_dc(prediction * blocks_[b].block.quantisation[0])) return false;
  }
  return true;
}

STOKER_AVX2 bool ScanDecoder::store(const int16_t* values, size_t mcus, size_t x, size_t y) const {
  std::array<size_t, kMaxBlocks> at;
  for (size_t b = 0; b < block_count_; ++b) at[b] = x * blocks_[b].across + y * blocks_[b].down;
  BlocksByKind sorted;
  for (size_t mcu = 0; mcu < mcus; ++mcu) {
    for (size_t b = 0; b < block_count_; ++b, values += 64) {
      const DctBlock& first = blocks_[b].block;
      const DctBlock block{values, first.quantisation, first.out + at[b], first.stride, first.side};
      if (!sorted.add(block)) return false;
      at[b] += blocks_[b].across;
    }
  }
  sorted.to_samples(inverse_dcts_);
  return true;
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
  if (!assign_blocks(frame, planes)) return false;
  scan_ = &scan;
  bits_.start(scan.data());
  segment_ = 0;
  predictions_ = {};
  ready_ = 0;
  ahead_.stop();
  const McuGrid grid = mcu_grid(frame);
  const size_t batch = BlockDecoder::kMaxBlocks / block_count_;
  // Where most of a row is needed, all of it is decoded: two decoders that leave nothing out are
  // faster than one that passes over parts of a row.
  const bool whole_rows = 2 * (needed.right - needed.left) >= grid.columns;
  if (needed.top != 0 || !whole_rows) {
    for (size_t b = 0; b < block_count_; ++b) blocks_[b].tables->make_skip();
  }
  const bool ends_above = needed.bottom < grid.rows;
  const size_t end =
      ends_above ? (needed.bottom - 1) * grid.columns + needed.right : grid.rows * grid.columns;
  size_t until_restart = frame.restart_interval;
  for (size_t mcu = 0, count = 0; mcu < end; mcu += count) {
    const size_t y = mcu / grid.columns, x = mcu % grid.columns;
    const size_t columns = std::min(grid.columns, x + end - mcu);
    size_t wanted = end - mcu;
    left_mcus_ = grid.rows * grid.columns - mcu;
    if (frame.restart_interval != 0) {
      if (until_restart == 0) {
        if (!next_segment()) return false;
        until_restart = frame.restart_interval;
      }
      wanted = std::min(wanted, until_restart);
      left_mcus_ = std::min(left_mcus_, until_restart);
    }
    // The piece ends with the row, or where the part begins or ends.
    const bool above = y < needed.top, beside = x < needed.left || x >= needed.right;
    const bool skip = above || (beside && !whole_rows);
    const size_t stop = above || x >= needed.right ? columns : beside ? needed.left : needed.right;
    count = std::min({batch, stop - x, wanted});
    if (skip) {
      if (!skip_mcus(count)) return false;
    } else {
      int16_t* const blocks = decode_mcus(count, whole_rows ? wanted : 0);
      if (blocks == nullptr || !predict(blocks, count)) return false;
      if (!beside && !store(blocks, count, x, y)) return false;
    }
    until_restart -= std::min(until_restart, count);
  }
  if (needed.bottom < grid.rows) return within_segment();
  return at_segment_end() && in_last_segment();
}

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

}  // namespace stoker

#else

namespace stoker {

std::unique_ptr<BaselineDecoder> BaselineDecoder::create() { return nullptr; }

}  // namespace stoker

#endif

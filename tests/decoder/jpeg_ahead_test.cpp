#include <gtest/gtest.h>

#include <cstring>

#include "io/jpeg/jpeg_frame.h"
#include "io/jpeg/scan_ahead.h"
#include "io/jpeg/scan_bytes.h"
#include "tests/decoder/jpeg_blocks.h"

// The decoder that runs ahead in a scan: it meets the first one, and what it has decoded from there
// on is the same; and files of which it decodes a part, whole and damaged, are judged as by
// libjpeg-turbo.

namespace stoker {
namespace {

struct WholeScan {
  explicit WholeScan(const File& file) {
    std::vector<JpegSegment> segments;
    const JpegHeader header = read_jpeg_header(file, &segments);
    if (!frame.assign(header, segments) ||
        !bytes.assign(Bytes(file).subspan(header.first_scan), false)) {
      throw std::runtime_error("not a file for the fast decoder");
    }
    const McuGrid grid = mcu_grid(frame);
    mcus = grid.columns * grid.rows;
    for (size_t c = 0; c < frame.components; ++c) {
      const auto& component = frame.component[c];
      tables[c].assign(frame.dc_tables[component.dc_table], frame.ac_tables[component.ac_table]);
      const McuSize mcu = c == 0 ? mcu_size(frame.sampling) : McuSize{};
      order.insert(order.end(), mcu.width * mcu.height / 64, &tables[c]);
    }
  }
  void set_tables(BlockDecoder& decoder) const {
    for (size_t i = 0; i < BlockDecoder::kMaxBlocks; ++i) {
      decoder.set_tables(i, *order[i % order.size()]);
    }
  }
  uint64_t bits() const { return uint64_t{bytes.ends().back()} * 8; }

  JpegFrame frame;
  ScanBytes bytes;
  BlockTables tables[3];
  std::vector<const BlockTables*> order;
  size_t mcus = 0;
};

// How many MCUs it had ready when they met, each compared; the first decoder goes through them
// again. `percent`: where it starts.
size_t expect_same_blocks(const WholeScan& scan, size_t percent) {
  ScanAhead ahead;
  BlockDecoder first;
  scan.set_tables(ahead.decoder());
  scan.set_tables(first);
  const uint8_t* const data = scan.bytes.data();
  ahead.start(data, scan.bytes.ends().back() * percent / 100, scan.bits(), scan.order.size());
  while (ahead.working()) {
    ahead.decoder().run();
    ahead.advance();
  }
  BitReader bits;
  bits.start(data);
  size_t ready = 0, mcu = 0;
  for (; mcu < scan.mcus && ready == 0 && ahead.active(); ++mcu) {
    if (bits.used(data) >= ahead.begin()) ready = ahead.meet(bits.used(data), scan.mcus - mcu);
    if (ready != 0) break;
    first.begin(bits, scan.order.size());
    first.run();
    bits = first.bits();
  }
  EXPECT_LE(ready, scan.mcus - mcu);
  for (size_t i = 0; i < ready; ++i) {
    first.begin(bits, scan.order.size());
    first.run();
    EXPECT_EQ(first.state(), BlockDecoder::State::done);
    bits = first.bits();
    EXPECT_EQ(std::memcmp(first.values(0), ahead.take(1), scan.order.size() * 128), 0) << i;
  }
  if (ready != 0) {
    EXPECT_EQ(bits.used(data), ahead.end().used(data));
  }
  return ready;
}

File photograph(int sampling, int quality, uint64_t seed) {
  const bool gray = sampling == TJSAMP_GRAY;
  return encoded(scene(320, 240, gray ? 1 : 3, Random(seed)), 320, 240, gray ? TJPF_GRAY : TJPF_RGB,
                 sampling, quality);
}

constexpr int kAllSamplings[] = {TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_GRAY};

TEST(JpegAhead, meets_the_first_decoder_and_has_the_same_blocks) {
  size_t met = 0, starts = 0;
  for (const int sampling : kAllSamplings) {
    for (const int quality : {30, 75, 96}) {
      const WholeScan scan(photograph(sampling, quality, static_cast<uint64_t>(quality)));
      for (const size_t percent : {10, 35, 50, 64}) {
        met += expect_same_blocks(scan, percent) != 0;
        ++starts;
      }
    }
  }
  const std::vector<std::string> paths = mini_files();
  for (size_t i = 0; i < paths.size(); i += 10) {
    met += expect_same_blocks(WholeScan(read_file(paths[i])), 50) != 0;
    ++starts;
  }
  EXPECT_GT(met * 10, starts * 9) << starts;
}

TEST(JpegAhead, stops_where_nothing_is_left) {
  const WholeScan scan(photograph(TJSAMP_420, 90, 1));
  EXPECT_EQ(expect_same_blocks(scan, 100), 0u);
}

// Both decoders' verdicts on a file, and the pixels.
class JpegAheadVerdict : public testing::Test {
 protected:
  static std::string outcome(const std::string& type, const File& file) {
    const auto decoder = make_decoder("{type: " + type + ", size: 64, scaled_decode: false}");
    try {
      const Pixels pixels = decode(*decoder->open(), *decoder, file);
      return {pixels.begin(), pixels.end()};
    } catch (const BadSample& bad) {
      return std::string(to_string(bad.reason())) + ": " + bad.what();
    }
  }
  static void check(const File& file) {
    ASSERT_TRUE(outcome("jpeg", file) == outcome("turbojpeg", file));
  }
};

TEST_F(JpegAheadVerdict, is_libjpegs_wherever_the_damage_is) {
  Random random(1);
  for (const int sampling : kAllSamplings) {
    const File file = photograph(sampling, 85, 7);
    ASSERT_GT(file.size(), 10000u);
    const size_t begin = find_marker(file, 0xda) + 20;
    ASSERT_NO_FATAL_FAILURE(check(file));
    for (size_t i = 0; i < 40; ++i) {
      const size_t region = (file.size() - begin) / 40;
      File damaged = file;
      for (size_t j = 0; j < 1 + i % 3; ++j) {
        damaged[begin + i * region + random.below(region)] ^=
            static_cast<uint8_t>(1u << random.below(8));
      }
      ASSERT_NO_FATAL_FAILURE(check(damaged)) << i;
      File ended = cut(file, begin + i * region);
      ASSERT_NO_FATAL_FAILURE(check(ended)) << i;
      ended.insert(ended.end(), {0xff, 0xd9});
      ASSERT_NO_FATAL_FAILURE(check(ended)) << i;
    }
  }
}

TEST_F(JpegAheadVerdict, is_libjpegs_with_long_segments_between_restart_markers) {
  for (const char* interval : {"160B", "77B", "5"}) {
    ::setenv("TJ_RESTART", interval, 1);
    for (const int sampling : kAllSamplings) {
      File file = photograph(sampling, 96, 3);
      EXPECT_NO_FATAL_FAILURE(check(file)) << interval;
      file[file.size() * 2 / 3] ^= 0x10;
      EXPECT_NO_FATAL_FAILURE(check(file)) << interval;
    }
    ::unsetenv("TJ_RESTART");
  }
}

// All tables the same: nothing tells one block of an MCU from another, and they may never meet.
TEST_F(JpegAheadVerdict, is_libjpegs_where_all_blocks_have_the_same_tables) {
  for (const int sampling : {TJSAMP_444, TJSAMP_422, TJSAMP_420}) {
    File file = photograph(sampling, 96, 5);
    const size_t scan = find_marker(file, 0xda);
    for (size_t c = 0; c < 3; ++c) file.at(scan + 6 + 2 * c) = 0x00;
    EXPECT_NO_FATAL_FAILURE(check(file));
  }
}

}  // namespace
}  // namespace stoker

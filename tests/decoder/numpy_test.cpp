#include <gtest/gtest.h>
#include <isa-l.h>

#include "io/core/random.h"
#include "io/decoder/numpy/npy.h"
#include "io/decoder/numpy/npz.h"
#include "tests/decoder/images.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

const std::string kExact = "{type: numpy, height: 2, width: 3, channels: 1}";
const std::string kCut = "{type: numpy, array: x, height: 2, width: 3, channels: 1, fit: cut}";

File npy_of(const StoredArray& array, const Pixels& values) {
  const std::string head = npy_head(array);
  File file(head.begin(), head.end());
  file.insert(file.end(), values.begin(), values.end());
  return file;
}

File npz_of(const File& x, const std::string& name = "x") {
  File file;
  NpzWriter archive([&](Bytes bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); });
  archive.begin("other");
  archive.write(Bytes(npy_of({"uint8", {1}}, {9})));
  archive.begin(name);
  archive.write(Bytes(x));
  archive.finish();
  return file;
}

const Pixels kSix{1, 2, 3, 4, 5, 6};

// The reason for which it is a bad sample, without the message.
std::string kind_of(const std::string& yaml, const File& file) {
  const std::string reason = reason_of(yaml, file);
  return reason.substr(0, reason.find(':'));
}

TEST(Numpy, an_array_of_the_shape_is_the_sample) {
  EXPECT_EQ(decode(kExact, npy_of({"uint8", {2, 3}}, kSix)), kSix);
  EXPECT_EQ(decode(kExact, npy_of({"uint8", {1, 2, 3}}, kSix)), kSix);
  EXPECT_EQ(decode(kExact, kSix), kSix);  // as a row of an HDF5 file
  const SampleSpec spec = make_decoder("{type: numpy, output: float32, height: 2}")->spec();
  EXPECT_EQ(spec.bytes(), 2u * 224 * 3 * 4);
}

TEST(Numpy, another_type_or_shape_is_a_bad_sample) {
  EXPECT_EQ(kind_of(kExact, npy_of({"uint8", {3, 2}}, kSix)), "unsupported");
  EXPECT_EQ(kind_of(kExact, npy_of({"int64", {1}}, Pixels(8))), "unsupported");
  EXPECT_EQ(kind_of(kExact, Pixels(5)), "truncated");
  EXPECT_EQ(kind_of(kExact, Pixels(7)), "corrupt");
  EXPECT_EQ(kind_of(kExact, {}), "empty");
}

TEST(Numpy, cut_takes_the_first_bytes_and_fills_with_zeros) {
  EXPECT_EQ(decode(kCut, npy_of({"uint8", {2, 2, 2}}, {1, 2, 3, 4, 5, 6, 7, 8})), kSix);
  EXPECT_EQ(decode(kCut, npy_of({"uint8", {2, 1}}, {7, 8})), (Pixels{7, 8, 0, 0, 0, 0}));
}

TEST(Numpy, an_archive_has_its_arrays_by_name) {
  EXPECT_EQ(decode(kCut, npz_of(npy_of({"uint8", {2, 3}}, kSix))), kSix);
  Buffer scratch;
  const File file = npz_of(npy_of({"uint8", {2, 3}}, kSix), "y");
  const std::string said = error_of([&] { npz_member(file, "x", 1000, scratch); });
  EXPECT_NE(said.find("no array 'x' (did you mean 'y'?); there are 'y' and 'other'"),
            std::string::npos)
      << said;
  EXPECT_EQ(kind_of("{type: numpy, array: y, max_bytes: 100}", file), "too_large");
}

TEST(Numpy, a_wrong_checksum_is_seen) {
  File file = npz_of(npy_of({"uint8", {2, 3}}, kSix));
  const auto at = std::search(file.begin(), file.end(), kSix.begin(), kSix.end());
  ASSERT_NE(at, file.end());
  *at ^= 1;
  EXPECT_EQ(kind_of(kCut, file), "corrupt");
}

TEST(Numpy, what_python_writes_in_other_words_is_read) {
  const auto headed = [](const std::string& header, const Pixels& values) {
    const std::string head =
        std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
    File file(head.begin(), head.end());
    file.insert(file.end(), values.begin(), values.end());
    return file;
  };
  EXPECT_EQ(
      decode(kExact, headed("{\"shape\":(2,3),\"descr\":\"|u1\",\"fortran_order\":False}\n", kSix)),
      kSix);
  for (const std::string header :
       {"{'descr': '|O', 'fortran_order': False, 'shape': (6,), }",
        "{'descr': '>u4', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<u4')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }"}) {
    EXPECT_EQ(kind_of(kExact, headed(header, kSix)), "unsupported") << header;
  }
  for (const std::string header :
       {"{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"}) {
    EXPECT_EQ(kind_of(kCut, headed(header, kSix)), "truncated") << header;
  }
  EXPECT_EQ(kind_of(kCut, headed("{'descr': '|u1', 'shape': (6,)}", kSix)), "corrupt");
  EXPECT_EQ(kind_of(kCut, headed("nonsense", kSix)), "corrupt");
}

TEST(Numpy, damage_gives_a_whole_sample_or_a_bad_one) {
  const std::unique_ptr<Decoder> decoder = make_decoder(kCut);
  const std::unique_ptr<DecoderSession> session = decoder->open();
  const File whole = npz_of(npy_of({"uint8", {2, 3}}, kSix));
  Random random(1);
  int bad = 0;
  for (int i = 0; i < 3000; ++i) {
    File file = i % 3 == 0 ? cut(whole, random.below(whole.size())) : whole;
    for (int flips = i % 3; flips > 0; --flips) {
      file[random.below(file.size())] ^= static_cast<uint8_t>(1u << random.below(8));
    }
    const File exact(file.begin(), file.end());
    try {
      decode(*session, *decoder, exact, {}, 0xee);
    } catch (const BadSample&) {
      ++bad;
    }
  }
  EXPECT_GT(bad, 1000);
}

}  // namespace
}  // namespace stoker

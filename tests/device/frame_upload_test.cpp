#include "io/device/frame_upload.h"

#include <gtest/gtest.h>

#include <cstring>

#include "io/decoder/jpeg_codec.h"
#include "io/decoder/jpeg_header.h"
#include "tests/decoder/images.h"
#include "tests/device/kernels_sample.h"

// What a GPU is given, on the CPU: the same copies and headers, from which the kernel's arithmetic
// (frame_math_test) must make the samples that the loader would have made.

namespace stoker {
namespace {

// Stands for nvJPEG: decodes at full size with libjpeg; refuses every third image.
class FakeDecoder final : public FrameDecoder {
 public:
  std::string description() const override { return "by libjpeg"; }
  void decode(std::span<const EncodedImage> images, const c10::Stream&,
              std::span<bool> refused) override {
    for (size_t i = 0; i < images.size(); ++i) {
      if (i % 3 == 2) {
        refused[i] = true;
        continue;
      }
      const EncodedImage& image = images[i];
      codec_.decode(image.file, read_jpeg_header(image.file), image.width, image.height, image.to);
    }
  }

 private:
  JpegCodec codec_;
};

HostMemory allocate(size_t bytes) {
  return {std::shared_ptr<uint8_t>(new uint8_t[bytes], std::default_delete<uint8_t[]>()), bytes,
          true};
}

FrameUpload upload() {
  return {at::kCPU, allocate, [] { return std::make_unique<FakeDecoder>(); }};
}

const c10::Stream kStream(c10::Stream::DEFAULT, at::kCPU);

struct Loaded {
  Batch batch;
  SampleSpec spec;
};

Loaded load(const std::string& yaml, const std::vector<File>& files, bool train) {
  const auto decoder = make_decoder(yaml);
  const auto session = decoder->open();
  Loaded result{{}, decoder->spec()};
  result.batch.size = static_cast<int64_t>(files.size());
  result.batch.pixels = allocate(files.size() * result.spec.bytes()).data;
  for (size_t i = 0; i < files.size(); ++i) {
    session->decode(files[i], {train, i}, result.batch.pixels.get() + i * result.spec.bytes());
  }
  return result;
}

void expect_the_loaders_samples(const std::string& options, const std::string& frame, bool train) {
  std::vector<File> files;
  const std::vector<std::string> names = mini_files();
  for (size_t i = 0; i < names.size(); i += 41) {
    files.push_back(with_orientation(read_file(names[i]), static_cast<uint8_t>(1 + i % 8)));
  }
  const Loaded plain = load("{" + options + "}", files, train);
  const Loaded framed = load("{" + options + ", " + frame + "}", files, train);
  FrameUpload frames = upload();
  const FrameUpload::Started started = frames.start(framed.batch, framed.spec, kStream);
  for (int64_t i = 0; i < framed.batch.size; ++i) {
    const Pixels sample =
        kernels_sample(started.frames.const_data_ptr<uint8_t>() + i * int64_t{kFrameHeader},
                       static_cast<int>(plain.spec.height));
    const uint8_t* expected =
        plain.batch.pixels.get() + static_cast<size_t>(i) * plain.spec.bytes();
    ASSERT_EQ(std::memcmp(sample.data(), expected, sample.size()), 0)
        << options << " " << frame << ": " << i << ", mean difference "
        << mean_difference(sample.data(), expected, sample.size());
  }
}

const std::string kRandom = "augment: {random_resized_crop: {}, flip: true}";

TEST(FrameUpload, frames_arrive_as_they_were_made) {
  expect_the_loaders_samples("type: turbojpeg, size: 96", "on_device: resize", false);
  expect_the_loaders_samples("type: turbojpeg, size: 96, " + kRandom, "on_device: resize", true);
}

TEST(FrameUpload, encoded_frames_are_decoded_on_the_way_at_full_size) {
  for (const char* resize : {"bilinear", "antialias"}) {
    expect_the_loaders_samples(
        std::string("type: turbojpeg, size: 48, scaled_decode: false, resize: ") + resize + ", " +
            kRandom,
        "on_device: decode", true);
  }
}

TEST(FrameUpload, only_what_is_used_is_copied) {
  const std::vector<File> files{read_file(mini_files()[0]), read_file(mini_files()[1])};
  const Loaded framed =
      load("{type: turbojpeg, size: 64, on_device: resize, frame: 4MiB}", files, false);
  FrameUpload frames = upload();
  const at::Tensor copied = frames.start(framed.batch, framed.spec, kStream).frames;
  size_t used = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    used += framed.spec.used(framed.batch.pixels.get() + i * framed.spec.bytes());
  }
  EXPECT_GE(copied.nbytes(), used);
  EXPECT_LE(copied.nbytes(), used + files.size() * 256);
}

TEST(FrameUpload, a_refused_damaged_image_is_an_error_of_the_data) {
  std::vector<File> files(3, read_file(mini_files()[0]));
  Loaded framed = load("{type: turbojpeg, size: 64, on_device: decode}", files, false);
  uint8_t* third = framed.batch.pixels.get() + 2 * framed.spec.bytes();
  const size_t used = framed.spec.used(third);
  // A marker in the entropy-coded data.
  third[used - 500] = 0xff;
  third[used - 499] = 0xc4;
  FrameUpload frames = upload();
  try {
    frames.start(framed.batch, framed.spec, kStream);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_NE(std::string(error.what()).find("sample 2 of batch 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace stoker

#include "io/device/input_transform.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include "io/decoder/normalise_pixels.h"
#include "io/decoder/pixels.h"
#include "io/device/device.h"
#include "tests/decoder/images.h"

// What the model is given: the same values by every way from the file to the batch.

namespace stoker {
namespace {

using Inputs = InputTransform::Inputs;

at::Tensor run(const at::Tensor& images, const Inputs& inputs) {
  DeviceBatch batch;
  batch.images = images;
  batch.host.size = images.size(0);
  return (*make_input_transform(inputs))(batch);
}

// Every level in every channel: [2, 17, 16, 3].
at::Tensor all_levels() {
  return at::arange(2 * 17 * 16, at::kLong)
      .remainder(256)
      .to(at::kByte)
      .view({2, 17, 16, 1})
      .expand({2, 17, 16, 3})
      .contiguous();
}

const SampleSpec kLevels{17, 16};

TEST(InputTransform, levels_become_what_a_decoder_with_float_output_gives) {
  const at::Tensor values = run(all_levels(), {at::kCPU, kLevels});
  ASSERT_EQ(values.sizes(), (std::vector<int64_t>{2, 3, 17, 16}));
  const auto* value = values.const_data_ptr<float>();
  for (int64_t image = 0; image < 2; ++image) {
    for (int channel = 0; channel < 3; ++channel) {
      for (int64_t i = 0; i < 17 * 16; ++i) {
        const auto level = static_cast<uint8_t>((image * 17 * 16 + i) % 256);
        ASSERT_EQ(*value++, normalised(level, channel));
      }
    }
  }
}

TEST(InputTransform, one_pass_gives_what_libtorchs_operators_give) {
  const auto options = at::TensorOptions(at::kFloat);
  const at::Tensor images = all_levels();
  const at::Tensor expected = images.permute({0, 3, 1, 2}).to(options);
  at::Tensor by_operators = expected.clone();
  for (int c = 0; c < 3; ++c) {
    by_operators.select(1, c)
        .sub_(static_cast<float>(kMean[c]))
        .mul_(static_cast<float>(kScale[c]));
  }
  for (const bool channels_last : {false, true}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor values = run(images, {at::kCPU, kLevels, channels_last, type});
      EXPECT_EQ(values.scalar_type(), type);
      EXPECT_TRUE(values.is_contiguous(channels_last ? at::MemoryFormat::ChannelsLast
                                                     : at::MemoryFormat::Contiguous));
      EXPECT_TRUE(values.equal(by_operators.to(type))) << channels_last << type;
    }
  }
}

TEST(InputTransform, one_channel_becomes_minus_one_to_one) {
  const SampleSpec grey{2, 2, 1, PixelType::uint8};
  const at::Tensor levels = at::arange(0, 256, 51, at::kByte).slice(0, 0, 4).view({1, 2, 2, 1});
  for (const bool channels_last : {false, true}) {
    const at::Tensor values = run(levels, {at::kCPU, grey, channels_last});
    ASSERT_EQ(values.sizes(), at::IntArrayRef({1, 1, 2, 2}));
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(values.flatten()[i].item<float>(), 51 * i / 127.5 - 1, 1e-6);
    }
  }
}

TEST(InputTransform, normalised_values_are_taken_where_they_lie) {
  SampleSpec spec = kLevels;
  const at::Tensor values = run(all_levels(), {at::kCPU, spec});
  spec.type = PixelType::float32;
  EXPECT_EQ(run(values, {at::kCPU, spec}).const_data_ptr(), values.const_data_ptr());
  const at::Tensor turned = run(values, {at::kCPU, spec, true});
  EXPECT_TRUE(turned.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(turned.equal(values));
}

TEST(InputTransform, vector_code_gives_the_values_of_the_definition) {
  Pixels rgb(3 * 61);
  for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<uint8_t>(i * 37 % 251);
  for (int64_t pixels = 0; pixels <= 61; ++pixels) {
    // Nothing behind the last pixel is read: address sanitizers see the copy's end.
    const Pixels exact(rgb.begin(), rgb.begin() + 3 * pixels);
    for (const int64_t plane : {pixels, kInterleaved}) {
      const auto count = static_cast<size_t>(3 * pixels);
      std::vector<float> values(count), expected(count);
      for (size_t i = 0; i < count; ++i) {
        const size_t at = plane == kInterleaved ? i : i / 3 + i % 3 * static_cast<size_t>(plane);
        expected[at] = normalised(exact[i], static_cast<int>(i % 3));
      }
      for (const Store store : {Store::cached, Store::streamed}) {
        normalise_pixels(exact.data(), pixels, plane, values.data(), store);
        ASSERT_EQ(values, expected) << pixels;
      }
      std::vector<Bf16> halves(count);
      normalise_pixels(exact.data(), pixels, plane, halves.data(), Store::cached);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(halves[i].bits, at::BFloat16(expected[i]).x);
    }
  }
}

// A batch of some files through one decoder.
at::Tensor decoded(const Decoder& decoder, const std::vector<std::string>& files, bool train) {
  const SampleSpec spec = decoder.spec();
  const auto session = decoder.open();
  const auto count = static_cast<int64_t>(files.size());
  const int64_t bytes = static_cast<int64_t>(spec.bytes());
  at::Tensor batch = at::arange(count * bytes).remainder(251).to(at::kByte);
  auto* out = batch.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    session->decode(read_file(files[static_cast<size_t>(i)]), {train, static_cast<uint64_t>(i)},
                    out + i * bytes);
  }
  if (spec.frame != 0) return batch.view({count, bytes, 1, 1});
  return batch.view({count, spec.height, spec.width, spec.channels});
}

// A batch of these values, each sample with the map of its number behind them.
struct WithMaps {
  Batch batch;
  std::vector<uint8_t> bytes;  // keeps it
};
WithMaps with_maps(const std::vector<std::vector<uint8_t>>& samples, const SampleSpec& spec) {
  WithMaps made;
  for (size_t i = 0; i < samples.size(); ++i) {
    made.bytes.insert(made.bytes.end(), samples[i].begin(), samples[i].end());
    for (size_t pixel = 0; pixel < spec.target; ++pixel) {
      made.bytes.push_back(static_cast<uint8_t>(10 * i + pixel % 7));
    }
  }
  made.batch.size = static_cast<int64_t>(samples.size());
  made.batch.labels = std::make_shared<std::vector<int64_t>>(samples.size());
  made.batch.pixels = std::shared_ptr<uint8_t>(made.bytes.data(), [](uint8_t*) {});
  return made;
}

// Cut out of a batch with maps, the values are those of one without, and the maps come out.
void expect_cut(const std::vector<std::vector<uint8_t>>& samples, SampleSpec spec) {
  std::vector<uint8_t> together;
  for (const auto& sample : samples) together.insert(together.end(), sample.begin(), sample.end());
  const auto count = static_cast<int64_t>(samples.size());
  const auto& [shape, type] = batch_layout(count, spec);
  const at::Tensor plain = at::from_blob(together.data(), shape, at::TensorOptions(type));
  const at::Tensor expected = run(plain, {at::kCPU, spec});
  spec.target = static_cast<size_t>(spec.height * spec.width);
  const WithMaps made = with_maps(samples, spec);
  const DeviceBatch batch = view_batch(made.batch, spec);
  EXPECT_TRUE((*make_input_transform({at::kCPU, spec}))(batch).equal(expected));
  const at::Tensor maps = targets(batch, spec);
  ASSERT_EQ(maps.sizes(), at::IntArrayRef({count, spec.height, spec.width}));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t pixel = 0; pixel < spec.height * spec.width; ++pixel) {
      ASSERT_EQ(maps[i].flatten()[pixel].item<int64_t>(), 10 * i + pixel % 7);
    }
  }
}

TEST(InputTransform, a_map_behind_the_values_is_cut_off_and_is_the_target) {
  for (const int64_t side : {4, 5}) {  // where floats of the second sample lie aligned, and not
    std::vector<std::vector<uint8_t>> floats, pixels;
    for (int64_t i = 0; i < 3; ++i) {
      const at::Tensor values = at::arange(2 * side * side).mul(0.25).add(i).to(at::kFloat);
      const auto* begin = static_cast<const uint8_t*>(values.const_data_ptr());
      floats.emplace_back(begin, begin + values.nbytes());
      const at::Tensor levels = at::arange(3 * side * side).add(i).to(at::kByte);
      const auto* first = levels.const_data_ptr<uint8_t>();
      pixels.emplace_back(first, first + levels.nbytes());
    }
    expect_cut(floats, {side, side, 2, PixelType::float32});
    expect_cut({floats.front()}, {side, side, 2, PixelType::float32});
    expect_cut(pixels, {side, side});
  }
}

TEST(InputTransform, without_a_map_the_target_is_the_label) {
  DeviceBatch batch;
  batch.labels = at::arange(3);
  EXPECT_TRUE(targets(batch, kLevels).is_same(batch.labels));
}

TEST(InputTransform, frames_give_the_values_of_pixels) {
  std::vector<std::string> files = mini_files();
  for (size_t i = 0; i < 20; ++i) files[i] = files[i * 25];
  files.resize(20);
  const std::string common =
      "{type: turbojpeg, size: 64, resize: antialias, augment: "
      "{random_resized_crop: {}, flip: true}";
  const auto plain = make_decoder(common + "}");
  for (const char* on_device : {"resize", "decode"}) {
    const auto framed = make_decoder(common + ", on_device: " + on_device + ", frame: 256KiB}");
    for (const bool train : {false, true}) {
      const at::Tensor expected = run(decoded(*plain, files, train), {at::kCPU, plain->spec()});
      const at::Tensor values = run(decoded(*framed, files, train), {at::kCPU, framed->spec()});
      EXPECT_TRUE(values.equal(expected)) << on_device << train;
    }
  }
}

TEST(InputTransform, a_damaged_frame_is_an_error_that_names_its_place) {
  const auto decoder = make_decoder("{type: turbojpeg, size: 32, on_device: decode}");
  at::Tensor batch = decoded(*decoder, {mini_files().front()}, false);
  // In the middle of the entropy-coded data, which nobody looks at before the device.
  uint8_t* middle = batch.mutable_data_ptr<uint8_t>() + 6000;
  std::fill(middle, middle + 300, uint8_t{0x55});
  middle[0] = 0xff;
  middle[1] = 0xc4;
  try {
    run(batch, {at::kCPU, decoder->spec()});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_NE(std::string(error.what()).find("sample 0 of batch 0"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace stoker

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/decoder/images.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using Values = std::vector<float>;

File file_of(const Values& values) {
  File file(values.size() * sizeof(float));
  std::memcpy(file.data(), values.data(), file.size());
  return file;
}

// The float32 part of a decoded sample.
Values values_of(const Pixels& pixels, size_t count) {
  Values values(count);
  std::memcpy(values.data(), pixels.data(), count * sizeof(float));
  return values;
}

// Three planes of 2 x 2, the values 0 to 11.
Values planes() {
  Values values(12);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return values;
}

constexpr const char* kPlain = "{type: planes, height: 2, width: 2}";
const std::string kTarget =
    "{type: planes, height: 2, width: 2, channels: 3, select: [2, 0], target: true, classes: 3}";

TEST(Planes, values_are_taken_as_they_are_stored) {
  EXPECT_EQ(values_of(decode(kPlain, file_of(planes())), 12), planes());
  const SampleSpec spec = make_decoder(kPlain)->spec();
  EXPECT_EQ(spec.type, PixelType::float32);
  EXPECT_EQ(spec.channels, 3);
  EXPECT_EQ(spec.target, 0u);
  EXPECT_EQ(spec.bytes(), 48u);
}

TEST(Planes, channels_are_selected_and_the_map_follows_them) {
  Values stored = planes();
  stored.insert(stored.end(), {0, 2, 1, 2});
  const SampleSpec spec = make_decoder(kTarget)->spec();
  EXPECT_EQ(spec.channels, 2);
  EXPECT_EQ(spec.target, 4u);
  EXPECT_EQ(spec.value_bytes(), 32u);
  EXPECT_EQ(spec.bytes(), 36u);
  const Pixels sample = decode(kTarget, file_of(stored));
  EXPECT_EQ(values_of(sample, 8), (Values{8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(Pixels(sample.begin() + 32, sample.end()), (Pixels{0, 2, 1, 2}));
}

TEST(Planes, the_lowest_value_becomes_0_and_the_highest_1) {
  const std::string yaml =
      "{type: planes, height: 2, width: 2, select: [1, 2], normalise: [4, 8, 6, 10]}";
  EXPECT_EQ(values_of(decode(yaml, file_of(planes())), 8),
            (Values{0, 0.25, 0.5, 0.75, 0.5, 0.75, 1, 1.25}));
  // The same out of what the file says of its channels; one without a range stays at 0.
  Values stored = planes();
  stored.insert(stored.end(), {9, 9, -1, 4, 8, -1, 6, 10, -1});
  const std::string by_stats = "{type: planes, height: 2, width: 2, select: [1, 2, 0], stats: 3}";
  const Values values = values_of(decode(by_stats, file_of(stored)), 12);
  EXPECT_EQ(Values(values.begin(), values.begin() + 8),
            (Values{0, 0.25, 0.5, 0.75, 0.5, 0.75, 1, 1.25}));
  EXPECT_EQ(values[8], -9);
}

TEST(Planes, what_is_no_such_sample_is_a_bad_one) {
  EXPECT_EQ(reason_of(kPlain, {}), "empty: 0 bytes where 3 planes of 2x2 float32 are 48");
  EXPECT_EQ(reason_of(kPlain, File(47)),
            "truncated: 47 bytes where 3 planes of 2x2 float32 are 48");
  EXPECT_EQ(reason_of(kTarget, File(65)),
            "corrupt: 65 bytes where 3 planes of 2x2 float32 with a target are 64");
  for (const float wrong : {3.f, -1.f, 0.5f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
    Values stored = planes();
    stored.insert(stored.end(), {0, 2, wrong, 1});
    EXPECT_EQ(reason_of(kTarget, file_of(stored)),
              "corrupt: its target has a pixel that is none of the classes 0 to 2");
  }
  Values stored = planes();
  stored.insert(stored.end(), {0, 4, 4, 3, 0, 1});
  EXPECT_EQ(reason_of("{type: planes, height: 2, width: 2, stats: 2}", file_of(stored)),
            "corrupt: its stats say 4 to 3 of channel 1");
}

TEST(Planes, options_that_do_not_fit_together_are_refused) {
  const auto refused = [](const std::string& options) {
    return error_of([&] { make_decoder("{type: planes, " + options + "}"); });
  };
  EXPECT_EQ(refused("select: [3]"),
            "test.yaml:1:24: decoder: 'select' has channel 3, and they are 0 to 2 (channels)");
  EXPECT_EQ(refused("normalise: [0, 1]"),
            "test.yaml:1:27: decoder: 'normalise' has 2 numbers where 3 channels need 6");
  EXPECT_EQ(refused("channels: 1, normalise: [2, 1]"),
            "test.yaml:1:40: decoder: 'normalise' has 2 as a lowest value, and 1 as its highest");
  EXPECT_EQ(refused("channels: 1, normalise: [1, 2], stats: 2"),
            "test.yaml:1:40: decoder: 'normalise' and 'stats' exclude each other");
  EXPECT_EQ(refused("classes: 3"), "test.yaml:1:25: decoder: 'classes' needs target: true");
  EXPECT_EQ(refused("target: true, height: 1, width: 6"),
            "test.yaml:1:24: decoder: 'target' needs planes whose pixels can be divided by four");
}

TEST(Planes, arrays_of_another_shape_or_type_are_refused_with_what_to_set) {
  const auto verdict = [](const std::string& yaml, const std::vector<StoredArray>& arrays) {
    return parse_component<Decoder>(parse_yaml(yaml, "test.yaml")).info().arrays(arrays);
  };
  const StoredArray image{"float32", {3, 2, 2}}, map{"float32", {2, 2}};
  EXPECT_EQ(verdict(kPlain, {image}), "");
  EXPECT_EQ(verdict(kTarget, {image, map}), "");
  EXPECT_EQ(verdict(kPlain, {{"float32", {2, 2, 3}}}),
            "takes 3 x 2 x 2 float32: set decoder.channels=2 decoder.height=2 decoder.width=3 if "
            "their first axis is the channels, else write them anew");
  EXPECT_EQ(verdict(kPlain, {{"uint8", {3, 2, 2}}}),
            "takes 3 x 2 x 2 float32: write them anew as float32");
  EXPECT_EQ(verdict(kPlain, {{"float32", {12}}}),
            "takes 3 x 2 x 2 float32: write them anew with the axes channel, row and column");
  EXPECT_EQ(verdict(kTarget, {image}),
            "takes 3 x 2 x 2 float32, 2 x 2 float32: name what follows by dataset.target and "
            "dataset.stats, and set decoder.target and decoder.stats");
}

}  // namespace
}  // namespace stoker

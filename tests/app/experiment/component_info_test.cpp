#include <gtest/gtest.h>

#include "app/experiment/experiment_options.h"
#include "tests/support/registered.h"

// What components say before anything is opened; loaders, devices and tiers are asked in their
// contracts.

namespace stoker {
namespace {

template <class T>
InfoOf<T> info(const std::string& yaml) {
  const ConfigContext context{{"data", "fast", "slow"}};
  const Node node = parse_yaml(yaml, "t.yaml");
  return parse_component<T>(node, &context).info();
}

TEST(ComponentInfo, a_data_set_names_its_tier_through_what_it_is_wrapped_in) {
  EXPECT_EQ(info<Dataset>("{type: synthetic}").tier, "");
  EXPECT_EQ(info<Dataset>("{type: packed, storage: data}").tier, "data");
  EXPECT_EQ(info<Dataset>("{type: image_folder, storage: slow}").tier, "slow");
  EXPECT_EQ(info<Dataset>("{type: decoded, inner: {type: image_folder, storage: slow}}").tier,
            "slow");
}

TEST(ComponentInfo, a_data_set_says_whether_it_reads_whole_files) {
  const std::string whole = "{type: packed, storage: data, access: whole}";
  EXPECT_TRUE(info<Dataset>(whole).whole_files);
  EXPECT_TRUE(info<Dataset>("{type: decoded, inner: " + whole + "}").whole_files);
  EXPECT_FALSE(info<Dataset>("{type: packed, storage: data}").whole_files);
}

TEST(ComponentInfo, each_decoder_says_whether_it_augments_and_what_it_hands_out) {
  for (const std::string& type : registered_types<Decoder>()) {
    const DecoderInfo plain = info<Decoder>("{type: " + type + "}");
    EXPECT_FALSE(plain.augments || plain.frames) << type;
    const bool planes = type == "planes";  // it makes no images, as discard and numpy
    EXPECT_EQ(plain.output, planes ? PixelType::float32 : PixelType::uint8) << type;
    if (planes || type == "discard" || type == "numpy") continue;
    const DecoderInfo other =
        info<Decoder>("{type: " + type + ", augment: {flip: true}, output: float32}");
    EXPECT_TRUE(other.augments) << type;
    EXPECT_EQ(other.output, PixelType::float32) << type;
  }
  EXPECT_TRUE(info<Decoder>("{type: jpeg, on_device: resize}").frames);
  EXPECT_EQ(info<Decoder>("{type: jpeg}").jpeg, JpegBy::ours);
  EXPECT_EQ(info<Decoder>("{type: auto}").jpeg, JpegBy::ours);
  EXPECT_EQ(info<Decoder>("{type: turbojpeg}").jpeg, JpegBy::libjpeg);
  EXPECT_EQ(info<Decoder>("{type: raw}").jpeg, JpegBy::none);
  EXPECT_EQ(info<Decoder>("{type: raw}").stored, "pixels");
  EXPECT_EQ(info<Decoder>("{type: planes}").stored, "planes");
  EXPECT_EQ(info<Decoder>("{type: auto}").stored, "");
}

TEST(ComponentInfo, each_checkpointer_names_its_tiers) {
  using Names = std::vector<std::string>;
  for (const std::string& type : Registry<Checkpointer>::global().names()) {
    const CheckpointerInfo all = info<Checkpointer>(
        "{type: " + type +
        ", fast: fast, slow: slow, directory: d, snapshot: async, durability: none, threads: 3}");
    EXPECT_EQ(all.tiers, (Names{"fast", "slow"})) << type;
    EXPECT_EQ(all.directory + " " + all.snapshot + " " + all.durability, "d async none") << type;
    EXPECT_EQ(all.threads, 3) << type;
    EXPECT_EQ(all.saves, !all.written.empty()) << type;
  }
  EXPECT_FALSE(info<Checkpointer>("{type: none}").saves);
  EXPECT_EQ(info<Checkpointer>("{type: direct, slow: slow}").written, Names{"slow"});
  EXPECT_EQ(info<Checkpointer>("{type: burst_buffer, fast: fast, slow: slow}").written,
            (Names{"fast", "slow"}));
}

TEST(ComponentInfo, a_schedule_says_whether_it_follows_the_length_of_the_run) {
  for (const std::string& type : Registry<Schedule>::global().names()) {
    const std::string yaml = "{type: " + type + (type == "step" ? ", every_steps: 3}" : "}");
    const Component<Schedule> schedule = parse_component<Schedule>(parse_yaml(yaml, "t.yaml"));
    const auto factor = [&](int64_t steps) { return schedule.create({steps, 10})->factor(5); };
    EXPECT_EQ(factor(10) != factor(20), schedule.info().follows_length) << type;
  }
}

}  // namespace
}  // namespace stoker

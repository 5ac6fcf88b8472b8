#include <gtest/gtest.h>

#include <thread>

#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/errors.h"
#include "tests/support/fakes.h"

// What device_resident does beyond the contract of all loaders.

namespace stoker {
namespace {

std::unique_ptr<Device> emulated() {
  const Node node = parse_yaml("{type: emulated, step_ms: 0}", "t.yaml");
  return Registry<Device>::global()
      .parse(Section(node, "", "device", nullptr))
      .create({1, [](const std::string&) {}});
}

struct ResidentSetup {
  explicit ResidentSetup(FakeDataset data = FakeDataset(40)) : dataset(std::move(data)) {}
  std::unique_ptr<Loader> make(const std::string& options, Device& on) {
    const Node node =
        parse_yaml("{type: device_resident, batch_size: 8, workers: 2, " + options + "}", "t.yaml");
    return Registry<Loader>::global()
        .parse(Section(node, "", "loader", nullptr))
        .create({dataset,
                 decoder,
                 on.allocator(),
                 Split::train,
                 7,
                 [](const std::string&) {},
                 meter,
                 {},
                 &on});
  }
  FakeDataset dataset;
  Tracer tracer;
  LoaderMeter meter{"train", tracer};
  FakeDecoder decoder{false};
  FakeDevice device;
};

int64_t epoch(Loader& loader, int64_t number) {
  loader.start(number, 0);
  int64_t skipped = 0;
  while (const auto batch = loader.next()) {
    skipped += static_cast<int64_t>(batch->skipped.size());
  }
  return skipped;
}

TEST(DeviceResident, decodes_every_sample_once) {
  ResidentSetup setup;
  const auto loader = setup.make("prefetch_batches: 1", setup.device);
  epoch(*loader, 0);
  EXPECT_EQ(setup.decoder.decoded(), 40);
  for (int64_t number = 1; number < 4; ++number) epoch(*loader, number);
  EXPECT_EQ(setup.decoder.decoded(), 40);
}

TEST(DeviceResident, decodes_later_what_an_epoch_left_out) {
  ResidentSetup setup(FakeDataset(45));  // 5 are left out by drop_last, others in every epoch
  const auto loader = setup.make("prefetch_batches: 1", setup.device);
  epoch(*loader, 0);
  EXPECT_GE(setup.decoder.decoded(), 40);  // the next epoch may have begun
  for (int64_t number = 1; number < 9; ++number) epoch(*loader, number);
  EXPECT_EQ(setup.decoder.decoded(), 45);
}

TEST(DeviceResident, a_bad_sample_is_replaced_anew_in_every_epoch) {
  ResidentSetup setup(FakeDataset(40, {5}, OnError{ErrorPolicy::skip, {}}));
  const auto loader = setup.make("prefetch_batches: 1", setup.device);
  for (int64_t number = 0; number < 4; ++number) EXPECT_EQ(epoch(*loader, number), 1) << number;
  EXPECT_EQ(setup.decoder.decoded(), 40 + 3);
}

TEST(DeviceResident, on_an_emulated_device_a_batch_is_a_shape_and_no_copy) {
  ResidentSetup setup;
  const auto device = emulated();
  const auto loader = setup.make("prefetch_batches: 2", *device);
  for (int64_t number = 0; number < 2; ++number) {
    loader->start(number, 0);
    while (const auto batch = loader->next()) {
      ASSERT_NE(batch->on_device, nullptr);
      EXPECT_EQ(batch->pixels, nullptr);
      EXPECT_EQ(batch->on_device->images.sizes(), (std::vector<int64_t>{8, 2, 2, 4}));
      EXPECT_EQ(batch->on_device->host.size, 8);
      device->run(batch->on_device.get(), [] {});
    }
  }
  const std::vector<BusyInterval> steps = device->collect(true);
  EXPECT_EQ(steps.size(), 10u);
  for (const BusyInterval& step : steps) EXPECT_EQ(step.copy.count(), 0);
}

TEST(DeviceResident, an_emulated_device_has_the_digests_of_a_real_one) {
  ResidentSetup setup;
  const auto device = emulated();
  const auto there = setup.make("digest: true", *device),
             here = setup.make("digest: true", setup.device);
  for (int64_t number = 0; number < 2; ++number) {
    there->start(number, 0);
    here->start(number, 0);
    while (const auto batch = here->next()) EXPECT_EQ(there->next()->digests, batch->digests);
  }
}

TEST(DeviceResident, what_does_not_fit_into_memory_is_refused_with_both_sizes) {
  ResidentSetup setup(FakeDataset(int64_t{1} << 50));
  const std::string error = error_of([&] { setup.make("shuffle: false", setup.device); });
  EXPECT_EQ(error.find("loader: device_resident needs 18014398.51 GB for 1125899906842624 decoded "
                       "samples, and "),
            0u)
      << error;
  EXPECT_NE(error.find("use a smaller decoder.size, or loader.type=prefetched"), std::string::npos);
}

}  // namespace
}  // namespace stoker

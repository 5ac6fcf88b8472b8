#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>

#include "io/storage/emulated/tier_device.h"
#include "io/storage/emulated/tier_model.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using Kind = TierOperation::Kind;

// 1 MB/s read, 2 MB/s written.
TierDevice stripe_device() { return {{1e6, 2e6, 10ms, 20ms, 30ms}, std::make_shared<TierShare>()}; }

// Two of three devices have the object; a stripe is 1,000 bytes.
TEST(StripedModel, an_operation_is_on_the_devices_of_its_object_at_once) {
  TimePoint now{1000s};
  const TierLayout layout{3, 2, {1000}};
  TierModel model({stripe_device(), stripe_device(), stripe_device()}, layout, nullptr,
                  {[&] { return now; }, [&](TimePoint time) { now = std::max(now, time); }});
  const auto takes = [&](const TierOperation& operation) -> Clock::duration {
    const TimePoint start = now;
    model.finish(model.begin(), operation);
    return now - start;
  };
  EXPECT_EQ(takes({Kind::read, 1000, 7}), 11ms);
  EXPECT_EQ(takes({Kind::read, 2000, 7}), 11ms);
  EXPECT_EQ(takes({Kind::read, 200'000, 7}), 110ms);
  EXPECT_EQ(takes({Kind::write, 2000, 7}), 20500us);
  EXPECT_EQ(takes({Kind::metadata}), 30ms);
}

TEST(StripedModel, parts_cover_the_operation_and_neighbours_lie_on_other_devices) {
  const TierLayout layout{8, 4, {100}};
  for (const uint64_t bytes : {0, 1, 99, 101, 250, 400, 4001}) {
    const TierParts parts(layout, {Kind::read, bytes, 3, 100});
    std::set<size_t> devices;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < parts.size(); ++i) {
      sum += parts[i].bytes;
      devices.insert(parts.device(i));
    }
    EXPECT_EQ(sum, bytes);
    EXPECT_EQ(devices.size(), parts.size());
    EXPECT_EQ(parts.size(), std::min<uint64_t>(4, std::max<uint64_t>(1, (bytes + 99) / 100)));
  }
  const auto first = [&](uint64_t object, uint64_t offset) {
    return TierParts(layout, {Kind::read, 1, object, offset}).device(0);
  };
  EXPECT_EQ(first(3, 0), first(3, 99));
  EXPECT_NE(first(3, 0), first(3, 100));
  EXPECT_EQ(first(3, 0), first(3, 400));
  std::set<size_t> of_objects;
  for (uint64_t object = 0; object < 100; ++object) of_objects.insert(first(object, 0));
  EXPECT_EQ(of_objects.size(), 8u);
}

}  // namespace
}  // namespace stoker

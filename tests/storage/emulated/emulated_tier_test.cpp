#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/storage/emulated/tier_figures.h"
#include "io/storage/emulated/tier_model.h"
#include "io/storage/file_tree.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using Kind = TierOperation::Kind;

// Time that passes only where something takes it. Every sleep is `oversleep` too long.
struct FakeTime {
  TierClock clock() {
    return {[this] { return now; },
            [this](TimePoint time) {
              slept.push_back(time - now);
              now = std::max(now, time) + oversleep;
            }};
  }
  TimePoint now{1000s};
  Clock::duration oversleep{};
  std::vector<Clock::duration> slept;
};

// 1 MB/s read, 2 MB/s written.
TierDevice slow_device(TierCosts costs = {1e6, 2e6, 10ms, 20ms, 30ms}) {
  return {costs, std::make_shared<TierShare>()};
}

struct Model : testing::Test {
  FakeTime time;
  Tracer tracer;
  TierMeter meter{"tier", "emulated", true, tracer};
  TierModel model{slow_device(), &meter, time.clock()};
  TimePoint start = time.now;

  // An operation that takes `inner` in truth; returns the time since the start.
  Clock::duration operate(Kind kind, uint64_t bytes, Clock::duration inner = {}) {
    const TimePoint begun = model.begin();
    time.now += inner;
    model.finish(begun, {kind, bytes});
    return time.now - start;
  }
};

TEST_F(Model, an_operation_takes_its_latency_and_its_bytes) {
  EXPECT_EQ(operate(Kind::read, 1000), 11ms);
  EXPECT_EQ(operate(Kind::write, 1000), 11ms + 20500us);
  EXPECT_EQ(operate(Kind::metadata, 0), 31500us + 30ms);
}

TEST_F(Model, the_time_of_the_operation_itself_is_part_of_it) {
  EXPECT_EQ(operate(Kind::read, 1000, 4ms), 11ms);
  EXPECT_EQ(time.slept, (std::vector<Clock::duration>{6ms, 1ms}));
}

TEST_F(Model, a_large_operation_takes_its_time_in_pieces) {
  EXPECT_EQ(operate(Kind::read, 1'000'000), 1010ms);
  EXPECT_EQ(time.slept.size(), 34u);  // the latency, and pieces as long as the longest of them
}

TEST_F(Model, an_operation_that_is_slower_than_its_model_is_not_slowed_down) {
  EXPECT_EQ(operate(Kind::read, 1000, 500ms), 500ms);
  EXPECT_TRUE(time.slept.empty());
}

TEST_F(Model, an_operation_that_is_slower_than_its_model_is_reported) {
  operate(Kind::read, 1000, 5ms);
  EXPECT_EQ(meter.state().overruns, 0);
  operate(Kind::read, 1000, 500ms);
  operate(Kind::metadata, 0, 31ms);
  EXPECT_EQ(meter.state().overruns, 2);
  EXPECT_NEAR(meter.state().overrun_s, 0.489 + 0.001, 1e-9);
}

TEST_F(Model, a_late_wake_up_is_no_overrun) {
  time.oversleep = 60us;
  for (int i = 0; i < 100; ++i) operate(Kind::read, 0, 10ms - 1us);
  EXPECT_EQ(meter.state().overruns, 0);
}

TEST_F(Model, many_overruns_are_a_condition_of_the_tier_and_few_are_not) {
  for (int i = 0; i < 200; ++i) operate(Kind::read, 1000);
  operate(Kind::read, 1000, 50ms);
  EXPECT_TRUE(meter.state().conditions.empty());
  for (int i = 0; i < 20; ++i) operate(Kind::read, 1000, 20ms);
  ASSERT_EQ(meter.state().conditions.size(), 1u);
  EXPECT_NE(meter.state().conditions[0].find("slower than the emulated device"), std::string::npos);
}

TEST_F(Model, a_slow_operation_is_not_made_good_by_the_next) {
  operate(Kind::read, 1000, 500ms);
  EXPECT_EQ(operate(Kind::read, 1000), 511ms);
}

TEST_F(Model, idle_time_is_not_saved_up) {
  operate(Kind::read, 1000);
  time.now += 1s;
  EXPECT_EQ(operate(Kind::read, 1000), 1s + 22ms);
}

TEST_F(Model, operations_of_several_threads_share_the_device) {
  const TimePoint first = model.begin(), second = model.begin();
  model.finish(first, {Kind::read, 1000});
  EXPECT_EQ(time.now - start, 11ms);
  model.finish(second, {Kind::write, 1000});  // asks 11 ms late, and is served as if on time
  EXPECT_EQ(time.now - start, 20500us);
  EXPECT_EQ(operate(Kind::read, 1000), 41ms);  // after the latencies of both
}

TEST_F(Model, an_operation_without_an_end_is_not_charged) {
  model.begin();
  EXPECT_EQ(operate(Kind::read, 1000), 11ms);
}

TEST_F(Model, sleeps_that_are_too_long_do_not_add_up) {
  time.oversleep = 60us;
  Clock::duration end{};
  for (int i = 0; i < 1000; ++i) end = operate(Kind::read, 1000);
  EXPECT_EQ(end, 1000 * 11ms + 60us);
}

TEST_F(Model, operations_shorter_than_a_wake_up_take_their_time_on_average) {
  TierModel quick(slow_device({1e9, 1e9, 10us, 10us, 10us}), nullptr, time.clock());
  time.oversleep = 60us;
  for (int i = 0; i < 1000; ++i) quick.finish(quick.begin(), {Kind::read, 10'000});
  EXPECT_NEAR(seconds(time.now - start), 0.020, 0.0001);
}

TEST_F(Model, work_between_two_operations_is_not_taken_for_a_late_wake_up) {
  time.oversleep = 60us;
  operate(Kind::read, 0);
  time.now += 5ms;
  operate(Kind::read, 0);
  EXPECT_EQ(time.now - start, 10ms + 5ms + 10ms + 60us);
}

TEST_F(Model, of_a_long_stop_little_is_made_good) {
  time.oversleep = 10s;
  operate(Kind::read, 0);
  time.oversleep = 0us;
  for (int i = 0; i < 10; ++i) operate(Kind::read, 0);
  EXPECT_EQ(time.now - start, 10ms + 10s + 100ms - 20ms);
  EXPECT_EQ(meter.state().overruns, 1);
  EXPECT_NEAR(meter.state().overrun_s, 9.98, 1e-9);
}

TEST_F(Model, waits_are_what_the_operation_itself_did_not_take) {
  operate(Kind::read, 1000, 4ms);  // 11 ms in all
  operate(Kind::read, 0, 60ms);    // longer than the model: no wait
  operate(Kind::write, 0);
  operate(Kind::metadata, 0, 10ms);
  const TierMeter::Waits waits = meter.state().waits;
  EXPECT_NEAR(waits.read_s, 0.007, 1e-9);
  EXPECT_NEAR(waits.write_s, 0.020, 1e-9);
  EXPECT_NEAR(waits.meta_s, 0.020, 1e-9);
}

TEST(TierLayer, every_call_is_charged) {
  TemporaryDirectory root;
  FakeTime time;
  const auto model = std::make_shared<TierModel>(slow_device(), nullptr, time.clock());
  const FileTree tree = FileTree(root.path()).behind(std::make_shared<TierLayer>(model));
  auto passed = [&, before = time.now]() mutable {
    return time.now - std::exchange(before, time.now);
  };
  TreeFile file = tree.create("a", FileAccess::buffered);
  EXPECT_EQ(passed(), 30ms);
  std::string bytes(1000, 'x');
  file.write_at(0, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  EXPECT_EQ(passed(), 20500us);
  file.sync();
  EXPECT_EQ(passed(), 30ms);
  tree.rename("a", "b");
  EXPECT_EQ(passed(), 30ms);
  file = tree.open("b", FileAccess::buffered);
  EXPECT_EQ(passed(), 30ms);
  file.read_at(0, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  EXPECT_EQ(passed(), 11ms);
  EXPECT_THROW(tree.open("none", FileAccess::buffered), IoError);
  EXPECT_EQ(passed(), 30ms);
  tree.list("");
  tree.sync_directory("");
  tree.remove("b");
  EXPECT_EQ(passed(), 90ms);
}

TEST(TierFigures, a_profile_has_the_figures_of_the_study_and_those_of_its_help) {
  const TierCosts hdd = TierFigures{.profile = TierProfile::hdd}.costs();
  EXPECT_DOUBLE_EQ(hdd.read_bytes_per_s, 163e6);
  EXPECT_DOUBLE_EQ(hdd.write_bytes_per_s, 133.1e6);
  EXPECT_EQ(hdd.read_latency, 100us);
  EXPECT_EQ(hdd.seek, 12360us);
  EXPECT_EQ(hdd.metadata_latency, 12360us);
  FieldDescriber describer;
  TierFigures figures;
  figures.visit(describer);
  const std::string help = describer.take()[0].help;
  const auto ms = [](Clock::duration duration) { return 1e3 * seconds(duration); };
  for (const auto& [name, profile] : enum_names(TierProfile{})) {
    const TierCosts costs = TierFigures{.profile = profile}.costs();
    std::string text = fmt::format("{} {:g}/{:g}, {:g} ms, ", name, costs.read_bytes_per_s / 1e6,
                                   costs.write_bytes_per_s / 1e6, ms(costs.read_latency));
    if (costs.write_latency != costs.read_latency) {
      text += fmt::format("write {:g} ms, ", ms(costs.write_latency));
    }
    if (costs.seek > 0ms) {
      text += fmt::format("seek {:g} ms, metadata {:g} ms, ", ms(costs.seek),
                          ms(costs.metadata_latency));
    } else {
      EXPECT_EQ(costs.read_latency, costs.metadata_latency);
    }
    text += fmt::format("queue depth {:g}", costs.queue_depth);
    if (costs.latency_sigma > 0) text += fmt::format(", sigma {:g}", costs.latency_sigma);
    if (costs.stream_bytes_per_s > 0) {
      text += fmt::format(", stream {:g} MB/s", costs.stream_bytes_per_s / 1e6);
    }
    EXPECT_NE(help.find(text), std::string::npos) << text << " in: " << help;
  }
}

TEST(TierFigures, a_figure_beside_a_profile_replaces_it) {
  const TierCosts costs =
      TierFigures{.profile = TierProfile::ssd, .write_mb_per_s = 7, .read_latency_ms = 0}.costs();
  EXPECT_DOUBLE_EQ(costs.read_bytes_per_s, 280e6);
  EXPECT_DOUBLE_EQ(costs.write_bytes_per_s, 7e6);
  EXPECT_EQ(costs.read_latency, 0ms);
  EXPECT_EQ(costs.metadata_latency, 100us);
}

TEST(TierFigures, without_a_profile_latencies_are_none) {
  const TierCosts costs = TierFigures{.read_mb_per_s = 1, .write_mb_per_s = 2}.costs();
  EXPECT_DOUBLE_EQ(costs.read_bytes_per_s, 1e6);
  EXPECT_EQ(costs.read_latency + costs.write_latency + costs.metadata_latency + costs.seek, 0ms);
  EXPECT_EQ(costs.queue_depth, 1);
  EXPECT_EQ(costs.latency_sigma + costs.stream_bytes_per_s, 0);
}

struct EmulatedTier : testing::Test {
  // So fast that nothing sleeps for long.
  std::string yaml(const std::string& inner) const {
    return "{type: emulated, read_mb_per_s: 1000000, write_mb_per_s: 1000000, inner: " + inner +
           "}";
  }
  std::string posix() const { return "{type: posix, root: " + root.path() + "}"; }
  TemporaryDirectory root;
};

TEST_F(EmulatedTier, is_a_hard_disk_where_nothing_is_said_and_else_needs_both_bandwidths) {
  const std::string message =
      "test.yaml:1:1: storage: give a profile, or read_mb_per_s and write_mb_per_s";
  EXPECT_NE(make_storage("{type: emulated, inner: {type: memory}}"), nullptr);
  EXPECT_EQ(
      error_of([] { make_storage("{type: emulated, read_mb_per_s: 1, inner: {type: memory}}"); }),
      message);
  EXPECT_NE(make_storage(yaml("{type: memory}")), nullptr);
}

TEST_F(EmulatedTier, profiles_are_known_and_need_nothing_else) {
  for (const char* name : {"hdd", "ssd", "optane", "lustre", "nfs", "s3-like"}) {
    EXPECT_NE(
        make_storage("{type: emulated, profile: " + std::string(name) + ", inner: {type: memory}}"),
        nullptr);
  }
  EXPECT_EQ(
      error_of([] { make_storage("{type: emulated, profile: tape, inner: {type: memory}}"); }),
      "test.yaml:1:27: storage: 'profile' must be one of hdd, ssd, optane, lustre, nfs, s3-like, "
      "got 'tape'");
}

TEST_F(EmulatedTier, an_inner_tier_is_needed) {
  EXPECT_EQ(error_of([] { make_storage("{type: emulated, profile: hdd}"); }),
            "test.yaml:1:1: storage: missing key 'inner'");
}

TEST_F(EmulatedTier, its_objects_are_those_of_the_inner_tier) {
  const auto tier = make_storage(yaml(posix()));
  put(*tier, "a/b", "text");
  EXPECT_EQ(root.read("a/b"), "text");
  tier->remove("a/b");
  EXPECT_EQ(listing(*posix_storage(root.path())), "");
}

TEST_F(EmulatedTier, its_files_are_those_of_the_inner_tier) {
  const auto tier = make_storage(yaml(yaml(posix())));
  ASSERT_NE(files_of(*tier), nullptr);
  EXPECT_EQ(files_of(*tier)->root(), root.path());
  files_of(*tier)->write_text("a", "text", true);
  EXPECT_EQ(root.read("a"), "text");
  EXPECT_EQ(files_of(*tier)->read_text("a", 4), "text");
}

// Three pieces and the empty one that ends the file, each a request to the device.
TEST_F(EmulatedTier, pieces_of_tensorflow_are_charged_one_by_one) {
  std::ofstream(root / "a", std::ios::binary) << std::string((5 << 20) / 2, 'x');
  const auto tier = make_storage(
      "{type: emulated, read_mb_per_s: 100000, write_mb_per_s: 1, read_latency_ms: 20, inner: "
      "{type: posix, read: tensorflow, root: " +
      root.path() + "}}");
  const TimePoint begin = Clock::now();
  EXPECT_EQ(get(*tier, "a").size(), (5u << 20) / 2);
  EXPECT_GE(Clock::now() - begin, 4 * 20ms);
}

TEST_F(EmulatedTier, it_has_no_files_where_the_inner_tier_has_none) {
  EXPECT_EQ(files_of(*make_storage(yaml("{type: memory}"))), nullptr);
}

TEST_F(EmulatedTier, errors_are_those_of_the_inner_tier) {
  const auto tier = make_storage(yaml(posix()));
  const std::string absent = root / "none" + ": No such file or directory";
  EXPECT_EQ(error_of([&] { get(*tier, "none"); }), "read " + absent);
  EXPECT_EQ(error_of([&] { files_of(*tier)->open("none", FileAccess::buffered); }),
            "open " + absent);
}

// The shared states that this process has mapped, by file.
std::set<std::string> shared_devices() {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (const size_t at = line.find("/dev/shm/stoker-tier-"); at != std::string::npos) {
      files.insert(line.substr(at));
    }
  }
  return files;
}

struct SharedTier : EmulatedTier {
  std::unique_ptr<Storage> open(const std::string& name, const std::string& figures) {
    const Node node = parse_yaml("{type: emulated, read_mb_per_s: 1000, write_mb_per_s: 1000, " +
                                     figures + "inner: " + posix() + "}",
                                 "test.yaml");
    return Registry<Storage>::global()
        .parse(Section(node, "", "storage", nullptr))
        .create({.name = name});
  }
};

TEST_F(SharedTier, tiers_of_one_name_and_configuration_are_one_device) {
  const auto one = open("slow", "metadata_latency_ms: 50, ");
  const auto two = open("slow", "metadata_latency_ms: 50, ");
  EXPECT_EQ(shared_devices().size(), 1u);
  const TimePoint begin = Clock::now();
  std::jthread other([&] { two->remove("none"); });
  one->remove("none");
  other.join();
  EXPECT_GE(Clock::now() - begin, 100ms);
}

TEST_F(SharedTier, another_name_figure_or_place_is_another_device) {
  const auto slow = open("slow", "");
  const auto data = open("data", "");
  const auto deep = open("slow", "queue_depth: 2, ");
  EXPECT_EQ(shared_devices().size(), 3u);
  const auto place = std::filesystem::current_path();
  std::vector<std::unique_ptr<Storage>> relative;
  for (const char* directory : {"a", "b"}) {
    std::filesystem::create_directory(root / directory);
    std::filesystem::current_path(root / directory);
    const Node node =
        parse_yaml("{type: emulated, profile: hdd, inner: {type: posix, root: slow}}", "test.yaml");
    const Section section(node, "", "storage", nullptr);
    relative.push_back(Registry<Storage>::global().parse(section).create({.name = "slow"}));
  }
  std::filesystem::current_path(place);
  EXPECT_EQ(shared_devices().size(), 5u);
}

TEST_F(SharedTier, a_device_without_a_name_or_by_its_option_is_of_its_process_alone) {
  const auto nameless = open("", "");
  const auto own = open("slow", "shared: false, ");
  EXPECT_EQ(shared_devices(), std::set<std::string>{});
}

}  // namespace
}  // namespace stoker

#include "io/checkpoint/saving/snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "io/checkpoint/restoring/read_set.h"
#include "io/checkpoint/sets/manifest.h"
#include "io/core/crc32c.h"
#include "io/core/system/memory.h"
#include "tests/support/checkpoints.h"
#include "tests/support/short_tests.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

TensorInfo named(const std::string& name, const std::string& dtype, std::vector<int64_t> shape) {
  const uint64_t bytes = tensor_bytes(dtype, shape).value();
  return {name, dtype, std::move(shape), bytes};
}

// Empty, without dimensions, of one byte, across the borders of two chunks, of odd lengths.
std::vector<TensorInfo> odd_tensors() {
  return {named("flag", "BOOL", {1}),       named("none", "F32", {0, 7}),
          named("scalar", "F64", {}),       named("large", "F32", {2100, 2500}),
          named("odd", "U8", {4097}),       named("half", "F16", {3, 5, 7}),
          named("last", "I8", {1 << 10, 3})};
}

void take(Snapshot& snapshot, const TrainingState& state, int64_t threads) {
  snapshot.start(state);
  snapshot.finish(threads);
}

HostMemory allocate(size_t bytes) { return allocate_huge(bytes, true); }

// A state of random bytes, in the order of the tensors that were given to make_layout().
struct Model {
  explicit Model(const std::vector<TensorInfo>& tensors, uint64_t seed = 1) : infos(tensors) {
    for (const TensorInfo& info : tensors) {
      // With room behind, so that an overrun copies something else than the next tensor.
      std::vector<uint8_t> bytes(info.bytes + 8);
      fill_any(bytes.data(), bytes.size(), seed + data.size());
      data.push_back(std::move(bytes));
    }
  }
  TrainingState state() const {
    TrainingState result;
    for (const auto& bytes : data) result.tensors.push_back(bytes.data());
    return result;
  }
  // What a file has to hold, put together in the plainest way.
  std::string file(const SetLayout& layout, size_t number) const {
    std::string text = layout.files[number].header;
    for (const TensorPiece& piece : layout.files[number].pieces) {
      const std::vector<uint8_t>& bytes = data[layout.sources[piece.tensor]];
      text.append(reinterpret_cast<const char*>(bytes.data()) + piece.begin, piece.bytes);
    }
    return text;
  }
  std::vector<TensorInfo> infos;
  std::vector<std::vector<uint8_t>> data;
};

std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void expect_image(Snapshot& snapshot, const Model& model) {
  for (size_t i = 0; i < snapshot.layout().files.size(); ++i) {
    EXPECT_TRUE(text_of(image_of(snapshot, i)) == model.file(snapshot.layout(), i)) << "file " << i;
  }
}

struct Shape {
  FileLayout format;
  int64_t shards;
  int64_t threads;
};

class EverySnapshot : public testing::TestWithParam<Shape> {
 protected:
  const Model model{odd_tensors()};
  const SetLayout layout = make_layout(GetParam().format, odd_tensors(), GetParam().shards);
};

TEST_P(EverySnapshot, is_the_file_byte_for_byte) {
  Snapshot snapshot(layout, allocate, files_of(layout, 0, 1));
  take(snapshot, model.state(), GetParam().threads);
  expect_image(snapshot, model);
}

// As the trainer does while it waits: beside the copier, or before that has a core.
TEST_P(EverySnapshot, another_thread_may_take_part) {
  Snapshot snapshot(layout, allocate, files_of(layout, 0, 1));
  snapshot.start(model.state());
  {
    const std::jthread trainer([&] { snapshot.help(); });
    snapshot.finish(GetParam().threads);
  }
  expect_image(snapshot, model);
  const Model other(odd_tensors(), 2);
  snapshot.start(other.state());
  snapshot.help();
  snapshot.wait();
  expect_image(snapshot, other);
}

TEST_P(EverySnapshot, has_the_sums_of_the_file_read_back) {
  Snapshot snapshot(layout, allocate, files_of(layout, 0, 1));
  take(snapshot, model.state(), GetParam().threads);
  Manifest manifest;
  manifest.created = "2026-01-01T00:00:00.000Z", manifest.writer = "w";
  manifest.durability = "fsync", manifest.training = nlohmann::json::object();
  put_together(manifest, layout, {snapshot.sums()});
  const TemporaryDirectory root;
  for (size_t i = 0; i < layout.files.size(); ++i) {
    root.write("set/" + layout.files[i].name, text_of(image_of(snapshot, i)));
  }
  for (const TextFile& text : tf_saver_texts(manifest)) {
    root.write("set/" + text.name, text.text);
    manifest.files.push_back(
        sums_of(text.name, {reinterpret_cast<const uint8_t*>(text.text.data()), text.text.size()}));
  }
  root.write("set/MANIFEST.json", manifest_text(manifest));
  const FileTree tree(root.path());
  EXPECT_NO_THROW(read_set(tree, "set", read_manifest(tree, "set"), 1, {}));
  for (size_t i = 0; i < layout.tensors.size(); ++i) {
    const std::vector<uint8_t>& bytes = model.data[layout.sources[i]];
    EXPECT_EQ(manifest.tensor_sums[i], crc32c({bytes.data(), layout.tensors[i].bytes})) << i;
  }
}

TEST_P(EverySnapshot, shows_nothing_of_the_state_before) {
  const Model before(odd_tensors(), 2);
  Snapshot used(layout, allocate, files_of(layout, 0, 1)),
      fresh(layout, allocate, files_of(layout, 0, 1));
  take(used, before.state(), GetParam().threads);
  take(used, model.state(), GetParam().threads);
  take(fresh, model.state(), GetParam().threads);
  expect_image(used, model);
  Manifest a, b;
  put_together(a, layout, {used.sums()}), put_together(b, layout, {fresh.sums()});
  EXPECT_EQ(a.tensor_sums, b.tensor_sums);
  EXPECT_EQ(a.files, b.files);
}

// The same where tensors live in it, so that nothing or little is copied; on each of two processes.
TEST_P(EverySnapshot, is_the_file_where_tensors_live_in_it) {
  for (int64_t rank = 0; rank < 2; ++rank) {
    const FileRange own = files_of(layout, rank, 2);
    Snapshot snapshot(layout, allocate, own, Snapshot::Holds::tensors);
    const StatePlaces& places = snapshot.places();
    ASSERT_EQ(places.tensors.size(), model.infos.size());
    TrainingState state;
    for (size_t i = 0; i < model.infos.size(); ++i) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(places.tensors[i]) % kTensorAlignment, 0u);
      std::memcpy(places.tensors[i], model.data[i].data(), model.infos[i].bytes);
      state.tensors.push_back(places.tensors[i]);
    }
    take(snapshot, state, GetParam().threads);
    for (size_t i = own.begin; i < own.end; ++i) {
      EXPECT_TRUE(text_of(image_of(snapshot, i)) == model.file(layout, i)) << "file " << i;
    }
    Snapshot copied(layout, allocate, own);
    take(copied, model.state(), 1);
    EXPECT_EQ(to_text(snapshot.sums()), to_text(copied.sums()));
  }
}

TEST(Snapshot, large_tensors_have_their_place_in_the_image) {
  const SetLayout layout = make_layout(FileLayout::safetensors, odd_tensors(), 1);
  Snapshot snapshot(layout, allocate, files_of(layout, 0, 1), Snapshot::Holds::tensors);
  const Bytes image = image_of(snapshot, 0);
  const auto in_image = [&](const char* name) {
    const auto infos = odd_tensors();
    const auto found = std::ranges::find(infos, name, &TensorInfo::name);
    const uint8_t* place = snapshot.places().tensors[static_cast<size_t>(found - infos.begin())];
    return place >= image.data() && place < image.data() + image.size();
  };
  EXPECT_TRUE(in_image("large"));
  EXPECT_TRUE(in_image("last"));
  EXPECT_FALSE(in_image("half"));  // it follows one of eight bytes
}

INSTANTIATE_TEST_SUITE_P(
    Snapshot, EverySnapshot,
    testing::Values(Shape{FileLayout::safetensors, 1, 1}, Shape{FileLayout::safetensors, 1, 4},
                    Shape{FileLayout::safetensors, 3, 1}, Shape{FileLayout::safetensors, 3, 4},
                    Shape{FileLayout::tf_saver, 1, 1}, Shape{FileLayout::tf_saver, 1, 4}));

TEST(Snapshot, images_are_aligned_for_direct_writes) {
  const SetLayout layout = make_layout(FileLayout::safetensors, odd_tensors(), 3);
  Snapshot snapshot(layout, allocate, files_of(layout, 0, 1));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(image_of(snapshot, i).data()) % kDirectAlignment, 0u);
  }
}

TEST(Snapshot, more_shards_than_rows_are_copied) {
  const std::vector<TensorInfo> tensors = {named("a", "F32", {2}), named("b", "U8", {1})};
  const Model model(tensors);
  const SetLayout layout = make_layout(FileLayout::safetensors, tensors, 7);
  Snapshot snapshot(layout, allocate, files_of(layout, 0, 1));
  take(snapshot, model.state(), 4);
  expect_image(snapshot, model);
}

TEST(Snapshot, a_state_without_tensors_has_an_image) {
  const Model model({});
  for (const FileLayout format : {FileLayout::safetensors, FileLayout::tf_saver}) {
    const SetLayout layout = make_layout(format, {}, 1);
    Snapshot snapshot(layout, allocate, files_of(layout, 0, 1));
    take(snapshot, model.state(), 4);
    expect_image(snapshot, model);
  }
}

TEST(Snapshot, memory_is_taken_once_and_has_room_for_all_files) {
  const SetLayout layout = make_layout(FileLayout::safetensors, odd_tensors(), 3);
  std::vector<size_t> asked;
  const auto counted = [&](size_t bytes) {
    asked.push_back(bytes);
    return allocate(bytes);
  };
  Snapshot snapshot(layout, counted, files_of(layout, 0, 1));
  const Model model(odd_tensors());
  for (int i = 0; i < 3; ++i) take(snapshot, model.state(), 2);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_GE(asked[0], snapshot.layout().bytes());
  EXPECT_LE(asked[0], snapshot.layout().bytes() + 4 * kDirectAlignment);
}

// Copies on a thread of its own, which waits until it is let go.
class FakeCopies final : public DeviceCopies {
 public:
  explicit FakeCopies(const Model& model) : model_(model) {}
  void start(std::span<const CopyTarget> targets) override {
    targets_.assign(targets.begin(), targets.end());
    thread_ = std::jthread([this] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return go_; });
      for (const CopyTarget& target : targets_) {
        const uint8_t* from = model_.data[target.tensor].data() + target.begin;
        std::memcpy(target.to, from, target.bytes);
      }
      done_ = true;
      changed_.notify_all();
    });
  }
  void fence() override {}
  void wait() override {
    std::unique_lock lock(mutex_);
    go_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return done_; });
  }
  const std::vector<CopyTarget>& targets() const { return targets_; }

 private:
  const Model& model_;
  std::vector<CopyTarget> targets_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool go_ = false, done_ = false;
  std::jthread thread_;
};

class DeviceSnapshot : public testing::TestWithParam<int64_t> {};

TEST_P(DeviceSnapshot, is_the_file_byte_for_byte) {
  const Model model(odd_tensors());
  const SetLayout layout = make_layout(FileLayout::safetensors, odd_tensors(), GetParam());
  Snapshot snapshot(layout, allocate, files_of(layout, 0, 1)),
      reference(layout, allocate, files_of(layout, 0, 1));
  TrainingState state = model.state();
  state.device = std::make_shared<FakeCopies>(model);
  for (const uint8_t*& address : state.tensors) address = nullptr;
  take(snapshot, state, 4);
  expect_image(snapshot, model);
  take(reference, model.state(), 1);
  Manifest a, b;
  put_together(a, layout, {snapshot.sums()}), put_together(b, layout, {reference.sums()});
  EXPECT_EQ(a.files, b.files);
  EXPECT_EQ(a.tensor_sums, b.tensor_sums);
}

TEST_P(DeviceSnapshot, only_what_is_on_the_device_is_copied_by_it) {
  const Model model(odd_tensors());
  const SetLayout layout = make_layout(FileLayout::safetensors, odd_tensors(), GetParam());
  Snapshot snapshot(layout, allocate, files_of(layout, 0, 1));
  TrainingState state = model.state();
  const auto copies = std::make_shared<FakeCopies>(model);
  state.device = copies;
  state.tensors[3] = state.tensors[4] = nullptr;
  take(snapshot, state, 4);
  expect_image(snapshot, model);
  uint64_t bytes = 0;
  for (const CopyTarget& target : copies->targets()) {
    EXPECT_TRUE(target.tensor == 3 || target.tensor == 4) << target.tensor;
    bytes += target.bytes;
  }
  EXPECT_EQ(bytes, model.infos[3].bytes + model.infos[4].bytes);
}

INSTANTIATE_TEST_SUITE_P(Snapshot, DeviceSnapshot, testing::Values(1, 3));

}  // namespace
}  // namespace stoker

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

#include "io/core/error.h"
#include "io/storage/file_tree.h"
#include "io/storage/tiers.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

class Metered : public testing::Test {
 protected:
  // "read 2 (10 B) write 1 (10 B)": what was done since the start, in alphabetical order.
  std::string done() const {
    const TierMeter::State state = meter_.state();
    std::map<std::string, std::string> parts;
    for (size_t i = 0; i < kTierOps; ++i) {
      const Tally::Totals& totals = state.ops[i];
      if (totals.count == 0) continue;
      parts[to_string(static_cast<TierOp>(i))] =
          std::to_string(totals.count) + " (" + std::to_string(totals.bytes) + " B)";
    }
    std::string text;
    for (const auto& [name, part] : parts) text += (text.empty() ? "" : " ") + name + " " + part;
    return text;
  }
  auto errors() const { return meter_.state().errors; }
  const FileTree& files() const { return *files_of(*tier_); }

  TemporaryDirectory directory_;
  Tracer tracer_;
  TierMeter meter_{"data", "posix", false, tracer_};
  std::unique_ptr<Storage> tier_ = metered(posix_storage(directory_.path()), meter_);
};

using Errors = std::map<std::pair<TierOp, int>, int64_t>;

TEST_F(Metered, whole_objects_are_counted_with_their_bytes) {
  put(*tier_, "a/b", "0123456789");
  EXPECT_EQ(done(), "create 1 (0 B) sync 1 (0 B) write 1 (10 B)");
  EXPECT_EQ(get(*tier_, "a/b"), "0123456789");
  EXPECT_EQ(get(*tier_, "a/b", {8, 100}), "89");
  EXPECT_EQ(listing(*tier_), "a/b=10");
  tier_->remove("a/b");
  EXPECT_EQ(done(),
            "create 1 (0 B) list 1 (0 B) read 2 (12 B) remove 1 (0 B) sync 1 (0 B) write 1 (10 B)");
  EXPECT_EQ(errors(), Errors{});
  EXPECT_EQ(meter_.state().in_flight, 0);
}

TEST_F(Metered, a_failure_is_no_operation_but_an_error) {
  EXPECT_THROW(get(*tier_, "none"), IoError);
  EXPECT_THROW(get(*tier_, "../out"), IoError);
  EXPECT_EQ(done(), "");
  EXPECT_EQ(errors(), (Errors{{{TierOp::read, ENOENT}, 1}, {{TierOp::read, EINVAL}, 1}}));
  EXPECT_EQ(meter_.state().in_flight, 0);
}

TEST_F(Metered, files_are_counted_call_by_call) {
  const std::vector<uint8_t> bytes(5000, 1);
  std::vector<uint8_t> back(5000);
  {
    const TreeFile file = files().create("x", FileAccess::buffered);
    file.write_at(0, bytes);
    file.sync();
  }
  files().replace("x", "y");
  files().open("y", FileAccess::buffered).read_at(0, back);
  EXPECT_EQ(back, bytes);
  files().remove("y");
  files().sync_directory("");
  EXPECT_EQ(done(),
            "create 1 (0 B) open 1 (0 B) read 1 (5000 B) remove 1 (0 B) rename 1 (0 B) "
            "sync 2 (0 B) write 1 (5000 B)");
  EXPECT_EQ(errors(), Errors{});
}

TEST_F(Metered, an_answer_that_was_asked_for_is_no_error) {
  EXPECT_FALSE(files().exists("none"));
  EXPECT_TRUE(files().list("none").empty());
  files().remove("none");
  files().remove_directory("none");
  files().make_directories("a/b");
  const FileDescriptor held = files().lock("lock");
  EXPECT_TRUE(held);
  EXPECT_FALSE(files().lock("lock"));
  EXPECT_EQ(errors(), Errors{});
}

TEST_F(Metered, a_file_that_cannot_be_used_is_an_error) {
  EXPECT_THROW(files().open("none", FileAccess::buffered), IoError);
  EXPECT_THROW(files().replace("none", "other"), IoError);
  { const TreeFile file = files().create("x", FileAccess::buffered); }
  EXPECT_THROW(files().create("x", FileAccess::buffered), IoError);
  EXPECT_THROW(files().list("x"), IoError);
  EXPECT_EQ(errors(), (Errors{{{TierOp::open, ENOENT}, 1},
                              {{TierOp::rename, ENOENT}, 1},
                              {{TierOp::create, EEXIST}, 1},
                              {{TierOp::list, ENOTDIR}, 1}}));
  EXPECT_EQ(meter_.state().in_flight, 0);
}

TEST_F(Metered, whole_objects_are_not_counted_as_files_too) {
  put(*tier_, "a", "text");
  get(*tier_, "a");
  EXPECT_EQ(done(), "create 1 (0 B) read 1 (4 B) sync 1 (0 B) write 1 (4 B)");
}

TEST_F(Metered, a_tier_without_files_has_none) {
  TierMeter meter("memory", "memory", false, tracer_);
  EXPECT_EQ(files_of(*metered(make_storage("{type: memory}"), meter)), nullptr);
}

TEST_F(Metered, counts_what_is_in_flight) {
  struct Looking final : Storage {
    explicit Looking(TierMeter& meter) : meter(meter) {}
    std::vector<ObjectInfo> list(const std::string&) const override {
      seen = meter.state().in_flight;
      return {};
    }
    void read(const std::string&, Buffer&, Range) const override {}
    std::unique_ptr<ObjectWriter> create(const std::string&) override { return nullptr; }
    void remove(const std::string&) override {}
    TierMeter& meter;
    mutable int64_t seen = 0;
  };
  auto looking = std::make_unique<Looking>(meter_);
  const Looking& inner = *looking;
  const std::unique_ptr<Storage> tier = metered(std::move(looking), meter_);
  tier->list("");
  EXPECT_EQ(inner.seen, 1);
  EXPECT_EQ(meter_.state().in_flight, 0);
}

TEST_F(Metered, takes_any_thread) {
  put(*tier_, "a", "text");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 200; ++n) get(*tier_, "a");
      });
    }
  }
  EXPECT_EQ(meter_.state().ops[static_cast<size_t>(TierOp::read)].count, 800);
  EXPECT_EQ(meter_.state().ops[static_cast<size_t>(TierOp::read)].bytes, 3200);
}

}  // namespace
}  // namespace stoker

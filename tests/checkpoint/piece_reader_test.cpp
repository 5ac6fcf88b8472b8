#include "io/checkpoint/restoring/piece_reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stop_token>
#include <thread>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "tests/support/errors.h"
#include "tests/support/file_layers.h"
#include "tests/support/safetensors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

constexpr uint64_t kPiece = 256 << 10;

struct PieceReaderTest : testing::Test {
  TemporaryDirectory root;
  FileTree tree{root.path()};
  const std::string text = some_bytes(21 * kPiece + 100, 4);
  std::vector<std::optional<SetFile>> files;
  std::vector<FilePiece> pieces;

  PieceReaderTest() {
    root.write("f", text);
    open(tree);
    for (uint64_t at = 0; at < text.size(); at += kPiece) {
      pieces.push_back({1, at, std::min<uint64_t>(text.size(), at + kPiece)});
    }
  }
  // The first of the files is a gap.
  void open(const FileTree& from) {
    files.clear();
    files.emplace_back();
    files.emplace_back(SetFiles(from).open("f", FileAccess::direct));
  }
  Bytes part(size_t piece) const {
    return {reinterpret_cast<const uint8_t*>(text.data()) + pieces[piece].begin,
            pieces[piece].end - pieces[piece].begin};
  }
};

TEST_F(PieceReaderTest, each_piece_is_handed_out_once_in_a_buffer_in_its_place_or_beside) {
  for (const int way : {0, 1, 2}) {
    for (const int64_t threads : {1, 5, 100}) {
      const HostMemory memory = allocate_huge(text.size(), true);
      std::vector<std::atomic<int>> seen(pieces.size());
      PieceReading reading{.threads = threads, .beside = way == 2};
      if (way > 0) reading.place = [&](size_t i) { return memory.data.get() + pieces[i].begin; };
      reading.done = [&](size_t i, Bytes bytes) {
        ++seen[i];
        EXPECT_TRUE(std::ranges::equal(bytes, part(i))) << i;
      };
      const PieceReport report = read_pieces(files, pieces, reading);
      EXPECT_EQ(report.threads, std::min<int64_t>(threads, static_cast<int64_t>(pieces.size())));
      EXPECT_EQ(report.direct, files[1]->direct());
      EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& count) { return count == 1; }));
      EXPECT_TRUE(way == 0 || std::memcmp(memory.data.get(), text.data(), text.size()) == 0);
    }
  }
}

TEST_F(PieceReaderTest, nothing_is_asked_for_where_there_is_nothing) {
  EXPECT_EQ(read_pieces(files, {}, {.threads = 4}).threads, 1);
}

TEST_F(PieceReaderTest, the_first_failure_by_order_comes_out_for_any_number_of_threads) {
  const HostMemory memory = allocate_huge(text.size(), true);
  for (const bool beside : {false, true}) {
    for (const int64_t threads : {1, 2, 8}) {
      PieceReading reading{.threads = threads, .beside = beside};
      if (beside) reading.place = [&](size_t i) { return memory.data.get() + pieces[i].begin; };
      reading.done = [](size_t piece, Bytes) {
        if (piece >= 6 && piece % 3 == 0) throw std::runtime_error(std::to_string(piece));
      };
      for (int round = 0; round < 10; ++round) {
        EXPECT_EQ(error_of([&] { read_pieces(files, pieces, reading); }), "6");
      }
    }
  }
}

TEST_F(PieceReaderTest, a_piece_waits_for_its_place) {
  const HostMemory ring = allocate_huge(2 * kPiece, true);
  std::mutex mutex;
  std::condition_variable_any changed;
  size_t freed = 0;
  std::vector<bool> there(pieces.size());
  const auto place = [&](size_t i) {
    std::unique_lock lock(mutex);
    wait_interruptibly(changed, lock, [&] { return i < freed + 2; });
    return ring.data.get() + i % 2 * kPiece;
  };
  const auto done = [&](size_t i, Bytes) {
    const std::lock_guard lock(mutex);
    there[i] = true;
    changed.notify_all();
  };
  std::jthread reader(
      [&] { read_pieces(files, pieces, {.threads = 4, .place = place, .done = done}); });
  for (size_t i = 0; i < pieces.size(); ++i) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return there[i]; });
    EXPECT_TRUE(
        std::ranges::equal(Bytes(ring.data.get() + i % 2 * kPiece, part(i).size()), part(i)));
    ++freed;
    changed.notify_all();
  }
}

// The read at the begin fails when so many wait for a place.
struct LateFailure final : FileLayer {
  const std::atomic<int>& waiting;
  explicit LateFailure(const std::atomic<int>& places) : waiting(places) {}
  int64_t call(const FileCall& call, const Next& next) override {
    if (call.op != FileCall::Op::read || call.offset != 0) return next(call);
    while (waiting < 2) std::this_thread::yield();
    return -EIO;
  }
};

TEST_F(PieceReaderTest, a_failure_ends_the_waits_for_a_place) {
  std::atomic<int> waiting = 0;
  const FileTree behind = tree.behind(std::make_shared<LateFailure>(waiting));
  open(behind);
  const HostMemory ring = allocate_huge(2 * kPiece, true);
  std::mutex mutex;
  std::condition_variable_any changed;
  const auto place = [&](size_t i) {
    std::unique_lock lock(mutex);
    if (i >= 2) {  // nobody frees one, who waits for the first piece
      ++waiting;
      wait_interruptibly(changed, lock, [] { return false; });
    }
    return ring.data.get() + i * kPiece;
  };
  EXPECT_EQ(error_of([&] { read_pieces(files, pieces, {.threads = 4, .place = place}); }),
            "read " + root / "f" + ": Input/output error");
}

// Reads that do not come back before somebody gives them up, as those of a tier that waits.
struct HangingLayer final : FileLayer {
  std::atomic<int> calls = 0;
  int64_t call(const FileCall& call, const Next& next) override {
    if (call.op != FileCall::Op::read) return next(call);
    ++calls;
    sleep_interruptibly(std::chrono::steady_clock::now() + std::chrono::hours(1));
    return next(call);
  }
};

TEST_F(PieceReaderTest, a_tier_that_hangs_can_be_given_up) {
  const auto hanging = std::make_shared<HangingLayer>();
  const FileTree behind = tree.behind(hanging);
  open(behind);
  std::stop_source stop;
  const std::jthread other([&] {
    while (hanging->calls < 3) std::this_thread::yield();
    stop.request_stop();
  });
  const Interruptible scope(stop.get_token());
  EXPECT_THROW(read_pieces(files, pieces, {.threads = 3}), Interrupted);
  EXPECT_EQ(hanging->calls, 3);
}

TEST_F(PieceReaderTest, a_read_that_fails_names_operation_and_file) {
  const auto fails = std::make_shared<FaultLayer>(
      Fault{.op = FileCall::Op::read, .skip = 5, .times = SIZE_MAX, .error = EIO});
  const FileTree behind = tree.behind(fails);
  open(behind);
  EXPECT_EQ(error_of([&] { read_pieces(files, pieces, {.threads = 2}); }),
            "read " + root / "f" + ": Input/output error");
}

}  // namespace
}  // namespace stoker

#include "io/storage/uring_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/system/memory.h"
#include "io/storage/file_tree.h"
#include "tests/support/file_layers.h"
#include "tests/support/short_tests.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

constexpr uint64_t kFileBytes = 11ull << 20;  // more than one round of requests

class UringWrites : public ::testing::Test {
 protected:
  UringWrites() : queue_(Uring::open(why_)), memory_(allocate_huge(kFileBytes, true)) {
    fill_any(memory_.data.get(), kFileBytes, 1);
  }
  void SetUp() override {
    if (!queue_) GTEST_SKIP() << why_;
  }
  Bytes bytes() const { return {memory_.data.get(), kFileBytes}; }
  std::string text() const {
    return {reinterpret_cast<const char*>(memory_.data.get()), kFileBytes};
  }

  TemporaryDirectory directory_;
  std::string why_;
  const std::unique_ptr<Uring> queue_;
  const HostMemory memory_;
};

TEST_F(UringWrites, all_bytes_arrive_in_their_places_past_the_page_cache_and_through_it) {
  const FileTree tree(directory_.path());
  for (const FileAccess access : {FileAccess::direct, FileAccess::buffered}) {
    const std::string name = access == FileAccess::direct ? "direct" : "buffered";
    tree.create(name, access).write_at(0, bytes(), queue_.get());
    EXPECT_EQ(directory_.read(name), text()) << name;
  }
}

TEST_F(UringWrites, says_how_much_was_written_before_the_first_failure) {
  const FileDescriptor file = open_file("write", directory_ / "short", O_WRONLY | O_CREAT);
  EXPECT_EQ(queue_->write(file.get(), bytes().data(), 100, 0), 100);
  EXPECT_EQ(queue_->write(file.get(), bytes().data(), kFileBytes, 0), int64_t{8} << 20);
  const FileDescriptor unwritable = open_file("read", directory_ / "short", O_RDONLY);
  EXPECT_EQ(queue_->write(unwritable.get(), bytes().data(), kFileBytes, 0), -EBADF);
}

TEST_F(UringWrites, a_full_disk_is_its_error) {
  const FileDescriptor full = open_file("write", "/dev/full", O_WRONLY);
  EXPECT_EQ(queue_->write(full.get(), bytes().data(), 4096, 0), -ENOSPC);
}

// As UringWrites, by a queue of 3 requests of 64 KiB.
class UringReads : public UringWrites {
 protected:
  UringReads() : small_(Uring::open(why_, {3, 64 << 10})) { directory_.write("file", text()); }
  int64_t read(const std::string& name, uint64_t bytes, uint64_t offset) {
    const FileDescriptor file = open_file("read", directory_ / name, O_RDONLY);
    got_.assign(bytes, 0);
    return small_->read(file.get(), got_.data(), bytes, offset);
  }
  Bytes part(uint64_t offset, uint64_t bytes) const { return this->bytes().subspan(offset, bytes); }

  const std::unique_ptr<Uring> small_;
  std::vector<uint8_t> got_;
};

TEST_F(UringReads, all_bytes_arrive_in_their_places) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{65536}, uint64_t{65537}, 5 * kFileBytes / 7}) {
    for (const uint64_t offset : {0, 1, 100'000}) {
      ASSERT_EQ(read("file", bytes, offset), static_cast<int64_t>(bytes));
      ASSERT_TRUE(std::ranges::equal(got_, part(offset, bytes))) << bytes << " at " << offset;
    }
  }
}

TEST_F(UringReads, the_end_of_the_file_ends_it_in_whichever_piece_it_lies) {
  for (const uint64_t beyond : {1, 65535, 65536, 1'000'000}) {
    EXPECT_EQ(read("file", 300'000 + beyond, kFileBytes - 300'000), 300'000);
    got_.resize(300'000);
    EXPECT_TRUE(std::ranges::equal(got_, part(kFileBytes - 300'000, 300'000)));
  }
  EXPECT_EQ(read("file", 10, kFileBytes), 0);
  EXPECT_EQ(read("file", 200'000, kFileBytes + 5), 0);
}

TEST_F(UringReads, a_failed_piece_is_its_error_and_the_queue_goes_on) {
  const FileDescriptor unreadable = open_file("write", directory_ / "file", O_WRONLY);
  got_.resize(kFileBytes);
  EXPECT_EQ(small_->read(unreadable.get(), got_.data(), kFileBytes, 0), -EBADF);
  EXPECT_FALSE(small_->broken());
  EXPECT_EQ(read("file", 100, 0), 100);
}

// A pipe gives what is in it: every read is a short one.
TEST_F(UringReads, a_short_read_goes_on_where_it_ended) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor out(ends[0]), in(ends[1]);
  std::jthread writer([&] {
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(::write(in.get(), bytes().data() + 1000 * i, 1000), 1000);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  got_.assign(10'000, 0);
  EXPECT_EQ(small_->read(out.get(), got_.data(), 10'000, -1), 10'000);
  EXPECT_TRUE(std::ranges::equal(got_, part(0, 10'000)));
}

// Where it pins no more memory for this user, it does not know it, and reads are as before.
TEST_F(UringReads, memory_that_the_kernel_was_told_of_gets_the_same_bytes) {
  const HostMemory known = allocate_huge(2 << 20, true);
  small_->register_memory({known.data.get(), known.bytes});
  const FileDescriptor file = open_file("read", directory_ / "file", O_RDONLY);
  for (const uint64_t bytes : {1, 65537, 1'000'000}) {
    ASSERT_EQ(small_->read(file.get(), known.data.get() + 7, bytes, 12'345),
              static_cast<int64_t>(bytes));
    ASSERT_TRUE(std::ranges::equal(Bytes(known.data.get() + 7, bytes), part(12'345, bytes)));
  }
  EXPECT_EQ(read("file", 1'000'000, 5), 1'000'000);  // other memory
  EXPECT_TRUE(std::ranges::equal(got_, part(5, 1'000'000)));
}

TEST_F(UringReads, of_a_tree_are_one_call_for_its_layers_however_they_end) {
  const HostMemory got = allocate_huge(kFileBytes, true);
  for (const FileAccess access : {FileAccess::direct, FileAccess::buffered}) {
    for (const size_t halves : {0, 3}) {
      const auto layer =
          std::make_shared<FaultLayer>(Fault{.op = FileCall::Op::read, .times = halves});
      const FileTree tree = FileTree(directory_.path()).behind(layer);
      std::fill_n(got.data.get(), kFileBytes, uint8_t{0});
      const TreeFile file = tree.open("file", access);
      file.read_at(0, {got.data.get(), kFileBytes}, small_.get());
      EXPECT_TRUE(std::ranges::equal(Bytes(got.data.get(), kFileBytes), this->bytes()));
      EXPECT_EQ(layer->matching(), 1 + halves);
    }
  }
  const FileTree tree(directory_.path());
  EXPECT_THROW(tree.open("file", FileAccess::buffered)
                   .read_at(kFileBytes - 10, {got.data.get(), 100}, small_.get()),
               IoError);
}

TEST_F(UringWrites, pass_the_layers_as_one_call_each) {
  const auto layer = std::make_shared<FaultLayer>(Fault{.op = FileCall::Op::write, .error = EIO});
  const FileTree tree = FileTree(directory_.path()).behind(layer);
  const TreeFile file = tree.create("file", FileAccess::buffered);
  EXPECT_THROW(file.write_at(0, bytes(), queue_.get()), IoError);
  EXPECT_EQ(file.size(), 0u);
}

}  // namespace
}  // namespace stoker

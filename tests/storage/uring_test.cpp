#include "io/storage/uring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/core/file.h"
#include "io/core/huge_memory.h"
#include "io/storage/file_tree.h"
#include "tests/support/file_layers.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

constexpr uint64_t kBytes = 11ull << 20;  // more than one round of requests

class UringWrites : public ::testing::Test {
 protected:
  UringWrites() : queue_(Uring::open(why_)), memory_(allocate_huge(kBytes, true)) {
    for (uint64_t i = 0; i < kBytes; ++i) memory_.data.get()[i] = static_cast<uint8_t>(i * i >> 7);
  }
  void SetUp() override {
    if (!queue_) GTEST_SKIP() << why_;
  }
  Bytes bytes() const { return {memory_.data.get(), kBytes}; }
  std::string text() const { return {bytes().begin(), bytes().end()}; }

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
  EXPECT_EQ(queue_->write(file.get(), bytes().data(), kBytes, 0), int64_t{8} << 20);
  const FileDescriptor unwritable = open_file("read", directory_ / "short", O_RDONLY);
  EXPECT_EQ(queue_->write(unwritable.get(), bytes().data(), kBytes, 0), -EBADF);
}

TEST_F(UringWrites, a_full_disk_is_its_error) {
  const FileDescriptor full = open_file("write", "/dev/full", O_WRONLY);
  EXPECT_EQ(queue_->write(full.get(), bytes().data(), 4096, 0), -ENOSPC);
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

#include "io/storage/file_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/file_layers.h"
#include "tests/support/mounted.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using Op = FileCall::Op;
namespace fs = std::filesystem;

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string read_all(const TreeFile& file, size_t size, uint64_t offset = 0) {
  std::string text(size, '?');
  file.read_at(offset, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
  return text;
}

// Memory that direct I/O takes.
class Page {
 public:
  explicit Page(size_t size, char fill) : data_(std::aligned_alloc(kDirectAlignment, size)) {
    std::fill_n(static_cast<char*>(data_.get()), size, fill);
    bytes_ = {static_cast<uint8_t*>(data_.get()), size};
  }
  std::span<uint8_t> bytes() { return bytes_; }
  std::string text() const { return {bytes_.begin(), bytes_.end()}; }

 private:
  std::unique_ptr<void, decltype([](void* p) { std::free(p); })> data_;
  std::span<uint8_t> bytes_;
};

struct Files : testing::Test {
  FileTree with(Fault fault) {
    faults = std::make_shared<FaultLayer>(std::move(fault));
    return tree.behind(faults);
  }
  std::string path(const std::string& name) const { return root / name; }

  TemporaryDirectory root;
  FileTree tree{root.path()};
  std::shared_ptr<FaultLayer> faults;
};

TEST_F(Files, what_was_written_at_offsets_is_read_back) {
  const TreeFile file = tree.create("a", FileAccess::buffered);
  file.write_at(3, bytes_of("def"));
  file.write_at(0, bytes_of("abc"));
  EXPECT_EQ(file.size(), 6u);
  file.sync();
  const TreeFile again = tree.open("a", FileAccess::buffered);
  EXPECT_FALSE(again.direct());
  EXPECT_EQ(read_all(again, 6), "abcdef");
  EXPECT_EQ(read_all(again, 2, 3), "de");
}

TEST_F(Files, a_stream_keeps_what_is_written_until_it_is_asked_for) {
  const TreeFile file = tree.create("a", FileAccess::stdio);
  EXPECT_FALSE(file.direct());
  file.write_at(0, bytes_of("abc"));
  EXPECT_EQ(root.read("a"), "");
  file.sync();
  EXPECT_EQ(root.read("a"), "abc");
  file.write_at(5, bytes_of("fg"));
  file.write_at(3, bytes_of("de"));
  EXPECT_EQ(file.size(), 7u);
  file.reserve(10);
  file.truncate(6);
  EXPECT_EQ(root.read("a"), "abcdef");
}

TEST_F(Files, a_stream_writes_what_is_left_when_it_ends) {
  tree.create("a", FileAccess::stdio).write_at(0, bytes_of("abc"));
  EXPECT_EQ(root.read("a"), "abc");
}

TEST_F(Files, truncate_cuts_and_extends) {
  const TreeFile file = tree.create("a", FileAccess::buffered);
  file.write_at(0, bytes_of("abcdef"));
  file.truncate(2);
  EXPECT_EQ(root.read("a"), "ab");
  file.truncate(4);
  EXPECT_EQ(root.read("a"), std::string("ab\0\0", 4));
}

TEST_F(Files, create_refuses_an_existing_file) {
  root.write("a", "old");
  for (FileAccess access : {FileAccess::buffered, FileAccess::direct, FileAccess::stdio}) {
    EXPECT_EQ(error_of([&] { tree.create("a", access); }), "create " + path("a") + ": File exists");
  }
  EXPECT_EQ(root.read("a"), "old");
}

TEST_F(Files, open_names_what_is_missing) {
  for (FileAccess access : {FileAccess::buffered, FileAccess::direct}) {
    EXPECT_EQ(error_of([&] { tree.open("a/b", access); }),
              "open " + path("a/b") + ": No such file or directory");
  }
}

TEST_F(Files, reading_behind_the_end_is_an_error) {
  root.write("a", "abc");
  const TreeFile file = tree.open("a", FileAccess::buffered);
  EXPECT_EQ(error_of([&] { read_all(file, 5, 1); }),
            "read " + path("a") + ": the file ends at byte 3, 3 bytes are missing");
  EXPECT_EQ(read_all(file, 0, 9), "");
}

TEST_F(Files, direct_io_or_its_fallback_keeps_the_bytes) {
  for (const std::string& place : {root.path(), std::string("/dev/shm")}) {
    if (!fs::is_directory(place)) continue;
    const FileTree there(place);
    const std::string name = "stoker-direct-" + std::to_string(::getpid());
    Page page(2 * kDirectAlignment, 'p');
    const TreeFile file = there.create(name, FileAccess::direct);
    file.write_at(0, page.bytes());
    file.sync();
    Page read(2 * kDirectAlignment, '?');
    there.open(name, FileAccess::direct).read_at(0, read.bytes());
    there.remove(name);
    EXPECT_EQ(read.text(), page.text()) << place;
  }
}

TEST_F(Files, open_falls_back_where_the_file_system_has_no_direct_io) {
  const FileTree process("/proc/self");
  const TreeFile file = process.open("status", FileAccess::direct);
  EXPECT_FALSE(file.direct());
  EXPECT_EQ(read_all(file, 5), "Name:");
}

TEST_F(Files, create_falls_back_where_the_file_system_has_no_direct_io) {
  STOKER_NEEDS_MOUNTS();
  const auto result = run_mounted(root.path(), "ramfs", "", [&] {
    const TreeFile file = tree.create("a", FileAccess::direct);
    file.write_at(0, bytes_of("odd"));
    const std::string again = error_of([&] { tree.create("a", FileAccess::direct); });
    return (file.direct() ? "direct " : "buffered ") + root.read("a") + ", " + again;
  });
  EXPECT_EQ(result, "buffered odd, create " + path("a") + ": File exists");
}

TEST_F(Files, a_direct_read_across_the_end_is_an_error) {
  root.write("a", std::string(kDirectAlignment + 7, 'x'));
  const TreeFile file = tree.open("a", FileAccess::direct);
  Page page(2 * kDirectAlignment, '?');
  EXPECT_EQ(error_of([&] { file.read_at(0, page.bytes()); }),
            "read " + path("a") + ": the file ends at byte 4103, 4089 bytes are missing");
}

TEST_F(Files, a_write_done_by_half_is_completed) {
  const FileTree faulty = with({.op = Op::write, .times = SIZE_MAX});
  faulty.create("a", FileAccess::buffered).write_at(2, bytes_of("abcdefghij"));
  EXPECT_EQ(root.read("a"), std::string("\0\0abcdefghij", 12));
  EXPECT_EQ(faults->struck(), 4u);  // 5, 2, 1 and 1 bytes; the last one cannot be halved
}

TEST_F(Files, a_direct_write_done_by_half_stays_aligned) {
  // A layer that stops in the middle of a block, as a signal or a full disk may.
  struct Ragged final : FileLayer {
    int64_t call(const FileCall& call, const Next& next) override {
      const int64_t count = next(call);
      return call.op == Op::write && count > 5000 ? 5000 : count;
    }
  };
  Page page(3 * kDirectAlignment, 'p');
  tree.behind(std::make_shared<Ragged>()).create("a", FileAccess::direct).write_at(0, page.bytes());
  EXPECT_EQ(root.read("a"), page.text());
}

TEST_F(Files, a_write_that_takes_nothing_is_an_error) {
  struct Stuck final : FileLayer {
    int64_t call(const FileCall& call, const Next& next) override {
      return call.op == Op::write ? 0 : next(call);
    }
  };
  const FileTree stuck = tree.behind(std::make_shared<Stuck>());
  const TreeFile file = stuck.create("a", FileAccess::buffered);
  EXPECT_EQ(error_of([&] { file.write_at(0, bytes_of("x")); }),
            "write " + path("a") + ": Input/output error");
}

TEST_F(Files, a_read_done_by_half_is_completed) {
  root.write("a", "abcdefghij");
  const FileTree faulty = with({.op = Op::read, .times = SIZE_MAX});
  EXPECT_EQ(read_all(faulty.open("a", FileAccess::buffered), 10), "abcdefghij");
  EXPECT_EQ(faults->struck(), 4u);
}

TEST_F(Files, rename_refuses_an_existing_target) {
  root.write("a", "new");
  root.write("b", "old");
  EXPECT_EQ(error_of([&] { tree.rename("a", "b"); }),
            "rename " + path("a") + " to " + path("b") + ": File exists");
  EXPECT_EQ(root.read("b"), "old");
  tree.rename("a", "c");
  EXPECT_EQ(root.read("c"), "new");
  EXPECT_FALSE(tree.exists("a"));
}

TEST_F(Files, rename_refuses_an_existing_directory) {
  tree.make_directories("a");
  tree.make_directories("b");
  EXPECT_EQ(error_of([&] { tree.rename("a", "b"); }),
            "rename " + path("a") + " to " + path("b") + ": File exists");
}

TEST_F(Files, replace_takes_the_place_of_its_target) {
  root.write("a", "new");
  root.write("b", "old");
  tree.replace("a", "b");
  EXPECT_EQ(root.read("b"), "new");
  EXPECT_EQ(tree.list(""), std::vector<std::string>{"b"});
}

TEST_F(Files, a_lock_keeps_a_second_holder_out_until_it_is_dropped) {
  FileDescriptor first = tree.lock("lock");
  EXPECT_TRUE(first);
  EXPECT_FALSE(tree.lock("lock"));
  first = FileDescriptor();
  EXPECT_TRUE(tree.lock("lock"));
}

TEST_F(Files, a_lock_that_cannot_be_made_is_named) {
  EXPECT_EQ(error_of([&] { tree.lock("none/lock"); }),
            "lock " + path("none/lock") + ": No such file or directory");
}

TEST_F(Files, make_directories_makes_all_of_them_and_the_root) {
  const auto log = std::make_shared<CallLog>();
  const FileTree deep = FileTree(root / "far/away").behind(std::make_shared<RecordingLayer>(log));
  deep.make_directories("a/b");
  deep.make_directories("a/b");
  EXPECT_TRUE(fs::is_directory(root / "far/away/a/b"));
  std::string calls;
  for (const RecordedCall& call : log->calls()) {
    calls += std::string(to_string(*call.op)) + " '" + call.path + "', ";
  }
  EXPECT_EQ(calls,
            "make directory 'a', sync directory '', make directory 'a/b', "
            "sync directory 'a', ");
}

TEST_F(Files, make_directories_names_a_file_in_the_way) {
  root.write("a", "x");
  EXPECT_EQ(error_of([&] { tree.make_directories("a"); }),
            "look at " + path("a") + ": Not a directory");
  EXPECT_EQ(error_of([&] { tree.make_directories("a/b"); }),
            "look at " + path("a/b") + ": Not a directory");
}

TEST_F(Files, what_is_absent_may_be_removed) {
  tree.remove("a");
  tree.remove_directory("b");
  EXPECT_FALSE(tree.exists("a"));
}

TEST_F(Files, remove_directory_takes_its_files_along) {
  root.write("a/1", "x");
  root.write("a/2", "x");
  root.write("b", "x");
  tree.remove_directory("a");
  EXPECT_EQ(tree.list(""), std::vector<std::string>{"b"});
  EXPECT_THROW(tree.remove_directory("b"), IoError);
}

TEST_F(Files, remove_directory_goes_on_past_what_it_cannot_remove) {
  for (const char* name : {"a/1", "a/2/mine", "a/3"}) root.write(name, "x");
  EXPECT_EQ(error_of([&] { tree.remove_directory("a"); }),
            "remove " + path("a/2") + ": Is a directory");
  EXPECT_EQ(tree.list("a"), std::vector<std::string>{"2"});
  EXPECT_EQ(root.read("a/2/mine"), "x");
}

TEST_F(Files, list_is_sorted_and_empty_where_nothing_is) {
  for (const char* name : {"b", "a", "c/d", ".hidden"}) root.write(name, "x");
  EXPECT_EQ(tree.list(""), (std::vector<std::string>{".hidden", "a", "b", "c"}));
  EXPECT_EQ(tree.list("none"), std::vector<std::string>{});
  EXPECT_EQ(error_of([&] { tree.list("a"); }), "list " + path("a") + ": Not a directory");
}

TEST_F(Files, exists_is_false_below_a_file_and_an_error_where_it_cannot_be_known) {
  root.write("a", "x");
  EXPECT_TRUE(tree.exists("a"));
  EXPECT_TRUE(tree.exists(""));
  EXPECT_FALSE(tree.exists("a/b"));
  EXPECT_EQ(error_of([&] { tree.exists(std::string(300, 'x')); }),
            "look at " + path(std::string(300, 'x')) + ": File name too long");
}

TEST_F(Files, text_is_read_as_a_whole_up_to_a_limit) {
  tree.write_text("a", "0123456789", true);
  EXPECT_EQ(tree.read_text("a", 10), "0123456789");
  EXPECT_EQ(error_of([&] { tree.read_text("a", 9); }),
            "read " + path("a") + ": 10 bytes; at most 9 are expected here");
  tree.write_text("empty", "", false);
  EXPECT_EQ(tree.read_text("empty", 0), "");
}

TEST_F(Files, write_text_syncs_where_asked) {
  const FileTree counted = with({.op = Op::sync, .skip = 99, .error = EIO});
  counted.write_text("a", "x", false);
  EXPECT_EQ(faults->matching(), 0u);
  counted.write_text("b", "x", true);
  EXPECT_EQ(faults->matching(), 1u);
}

TEST_F(Files, reserved_space_is_part_of_the_file) {
  const TreeFile file = tree.create("a", FileAccess::buffered);
  file.reserve(0);
  EXPECT_EQ(file.size(), 0u);
  file.reserve(10000);
  struct stat status {};
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 10000);
  EXPECT_GE(status.st_blocks * 512, 10000);
}

TEST_F(Files, a_file_system_that_cannot_reserve_is_none_the_worse) {
  const FileTree faulty = with({.op = Op::reserve, .error = EOPNOTSUPP});
  const TreeFile file = faulty.create("a", FileAccess::buffered);
  file.reserve(10000);
  EXPECT_EQ(faults->struck(), 1u);
  EXPECT_EQ(file.size(), 0u);
}

TEST_F(Files, a_full_disk_shows_when_space_is_reserved) {
  STOKER_NEEDS_MOUNTS();
  const auto result = run_mounted(root.path(), "tmpfs", "size=64k", [&] {
    const TreeFile file = tree.create("a", FileAccess::buffered);
    file.reserve(32768);
    const std::string message =
        error_of([&] { tree.create("b", FileAccess::buffered).reserve(65536); });
    file.write_at(0, bytes_of(std::string(32768, 'x')));
    return message;
  });
  EXPECT_EQ(result, "reserve space for " + path("b") + ": No space left on device");
}

TEST_F(Files, a_full_disk_fails_a_stream) {
  STOKER_NEEDS_MOUNTS();
  const auto result = run_mounted(root.path(), "tmpfs", "size=64k", [&] {
    const TreeFile file = tree.create("a", FileAccess::stdio);
    return error_of([&] { file.write_at(0, bytes_of(std::string(2 * 65536, 'x'))); });
  });
  EXPECT_EQ(result, "write " + path("a") + ": No space left on device");
}

TEST_F(Files, a_full_disk_fails_a_write) {
  STOKER_NEEDS_MOUNTS();
  const auto result = run_mounted(root.path(), "tmpfs", "size=64k", [&] {
    const TreeFile file = tree.create("a", FileAccess::buffered);
    return error_of([&] { file.write_at(0, bytes_of(std::string(100000, 'x'))); });
  });
  EXPECT_EQ(result, "write " + path("a") + ": No space left on device");
}

TEST_F(Files, a_link_that_leads_nowhere_is_not_there) {
  std::filesystem::create_symlink("loop", path("loop"));
  std::filesystem::create_symlink("nowhere", path("dangling"));
  EXPECT_FALSE(tree.exists("loop"));
  EXPECT_FALSE(tree.exists("loop/below"));
  EXPECT_FALSE(tree.exists("dangling"));
}

}  // namespace
}  // namespace stoker

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/metrics/tier_meter.h"
#include "io/storage/uring_queue.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

struct UringTier : testing::Test {
  std::unique_ptr<Storage> tier(const std::string& options = "") {
    return make_storage("{type: uring, root: " + root.path() + options + "}");
  }
  TemporaryDirectory root;
};

TEST_F(UringTier, reads_without_a_read_of_its_own) {
  const std::string text(300'000, 'x');
  root.write("file", text);
  const auto storage = tier(", block: 4KiB");
  const auto read_calls = [] {
    std::ifstream io("/proc/self/io");
    std::string word;
    int64_t value = -1;
    while (io >> word >> value && word != "syscr:") continue;
    return value;
  };
  get(*storage, "file");  // cached from here on: the kernel answers without threads of its own
  const int64_t before = read_calls();
  const int64_t between = read_calls();
  EXPECT_EQ(get(*storage, "file"), text);
  std::string why;
  const int64_t own = Uring::open(why) ? 0 : 1;  // by pread where io_uring is refused
  EXPECT_EQ(read_calls() - between, between - before + own);
}

TEST_F(UringTier, threads_read_at_once) {
  for (int i = 0; i < 4; ++i) {
    root.write(std::to_string(i), std::string(100'000 + i, static_cast<char>('a' + i)));
  }
  const auto storage = tier(", block: 4KiB, queue_depth: 5");
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, key = std::to_string(i % 4), letter = static_cast<char>('a' + i % 4)] {
      for (int round = 0; round < 50; ++round) {
        const std::string text = get(*storage, key);
        ASSERT_EQ(text.find_first_not_of(letter), std::string::npos);
        ASSERT_EQ(text.size(), 100'000u + static_cast<size_t>(letter - 'a'));
      }
    });
  }
}

// Waits until somebody has closed the file after reading it; false: nobody does.
class Closed {
 public:
  explicit Closed(const std::string& path) : events_(::inotify_init1(IN_CLOEXEC)) {
    ::inotify_add_watch(events_.get(), path.c_str(), IN_CLOSE_NOWRITE);
  }
  bool wait() const {
    pollfd ready{events_.get(), POLLIN, 0};
    return ::poll(&ready, 1, 10'000) == 1;
  }

 private:
  const FileDescriptor events_;
};

void expect_read(const Storage& tier, const std::vector<std::string>& keys, Range range) {
  std::vector<ObjectRange> reads;
  for (const std::string& key : keys) reads.push_back({key, range});
  tier.expect(reads);
}

TEST_F(UringTier, what_is_expected_is_read_before_it_is_asked_for) {
  root.write("a", "0123456789");
  const auto storage = tier();
  const Closed closed(root.path() + "/a");
  expect_read(*storage, {"a"}, {0, 11});
  ASSERT_TRUE(closed.wait());
  std::filesystem::remove(root.path() + "/a");
  EXPECT_EQ(get(*storage, "a", {0, 11}), "0123456789");
  EXPECT_THROW(get(*storage, "a", {0, 11}), IoError);  // once
}

std::string outcome(const Storage& tier, const std::string& key, Range range) {
  try {
    return get(tier, key, range);
  } catch (const IoError& error) {
    return error.what();
  }
}

TEST_F(UringTier, expected_reads_give_what_others_do_however_many_and_whatever_they_are) {
  std::vector<std::string> keys{"none", "folder"};
  root.write("folder/x", "x");
  root.write("empty", "");
  keys.emplace_back("empty");
  for (int i = 0; i < 300; ++i) {
    keys.push_back("f" + std::to_string(i));
    root.write(keys.back(), std::string(static_cast<size_t>(1 + 97 * i), 'x'));
  }
  const auto storage = tier(", files_in_flight: 7"), plain = posix_storage(root.path());
  for (const Range range : {Range{0, 1 << 20}, Range{5, 100}, Range{1 << 20, 10}, Range{}}) {
    expect_read(*storage, keys, range);
    for (const std::string& key : keys) {
      EXPECT_EQ(outcome(*storage, key, range), outcome(*plain, key, range)) << key;
    }
  }
  expect_read(*storage, keys, {0, 1 << 20});  // and ends with reads in flight
}

TEST_F(UringTier, an_expected_object_that_is_replaced_or_removed_is_the_new_one) {
  const auto storage = tier();
  put(*storage, "a", "old");
  const Closed closed(root.path() + "/a");
  expect_read(*storage, {"a"}, {0, 10});
  ASSERT_TRUE(closed.wait());
  put(*storage, "a", "new");
  EXPECT_EQ(get(*storage, "a", {0, 10}), "new");
  expect_read(*storage, {"a"}, {0, 10});
  storage->remove("a");
  EXPECT_THROW(get(*storage, "a", {0, 10}), IoError);
}

TEST_F(UringTier, options_are_checked) {
  EXPECT_NE(error_of([&] { tier(", block: 1KiB"); }).find("'block' must be 4KiB to 1GiB"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              tier(", block: 5000, direct: true");
            }).find("'block' must be a multiple of 4KiB where direct is true"),
            std::string::npos);
  EXPECT_NE(error_of([&] { tier(", queue_depth: 0"); }).find("queue_depth"), std::string::npos);
}

// As Docker's default profile does.
void forbid_io_uring() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{4, program};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    ::_exit(3);
  }
}

TEST(UringRefused, reads_are_by_pread_and_that_is_said_once) {
  TemporaryDirectory root;
  root.write("file", "by pread");
  const auto in_child = [&] {
    forbid_io_uring();
    Tracer tracer;
    TierMeter meter{"data", "uring", false, tracer};
    const Node node = parse_yaml("{type: uring, root: " + root.path() + "}", "x");
    std::string text;
    const auto storage =
        Registry<Storage>::global()
            .parse(Section(node, "", "storage", nullptr))
            .create({"data", [&](const std::string& remark) { text += remark + "; "; }, nullptr,
                     &meter});
    text += get(*storage, "file") + "; " + get(*storage, "file", {3, 2});
    for (const std::string& condition : meter.state().conditions) text += "; " + condition;
    std::fprintf(stderr, "%s", text.c_str());
    ::_exit(0);
  };
  EXPECT_EXIT(in_child(), testing::ExitedWithCode(0),
              "^storage 'data': io_uring is refused here: Operation not permitted: reads are by "
              "pread; by pread; pr; io_uring is refused here: Operation not permitted: reads are "
              "by pread$");
}

}  // namespace
}  // namespace stoker

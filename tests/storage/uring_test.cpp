#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

#include "io/core/error.h"
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

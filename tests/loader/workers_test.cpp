#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "io/core/system/usable_cores.h"
#include "io/loader/loader.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

bool write(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::in);  // makes no new one
  out << text << std::flush;
  return static_cast<bool>(out);
}

// A group with a quota, in a group below it this process, as in a container; until its end.
class QuotaGroup {
 public:
  QuotaGroup() {
    for (const char* mount :
         {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
      root_ = mount;
      outer_ = root_ / ("stoker_test_" + std::to_string(::getpid()));
      write(root_ / "cgroup.subtree_control", "+cpu");  // of version 2
      std::error_code refused;
      fs::create_directories(outer_ / "inner", refused);
      limited_ = !refused && limit(100) && write(outer_ / "inner/cgroup.procs", "0");
      if (limited_) return;
      remove();
    }
  }
  ~QuotaGroup() { remove(); }
  QuotaGroup(const QuotaGroup&) = delete;
  QuotaGroup& operator=(const QuotaGroup&) = delete;

  // False: the kernel does not let us make one.
  explicit operator bool() const { return limited_; }
  bool limit(double cores) const {
    const std::string quota = std::to_string(static_cast<int64_t>(1e5 * cores));
    return write(outer_ / "cpu.max", quota + " 100000") ||
           write(outer_ / "cpu.cfs_quota_us", quota);
  }

 private:
  void remove() {
    std::error_code gone;
    if (limited_) write(root_ / "cgroup.procs", "0");
    fs::remove(outer_ / "inner", gone);
    fs::remove(outer_, gone);
  }

  fs::path root_;
  fs::path outer_;
  bool limited_ = false;
};

TEST(Workers, auto_is_not_more_than_the_cpu_quota_of_the_control_groups) {
  const int64_t cores = thread_count({});
  const auto before = cpu_quota();
  const QuotaGroup group;
  if (!group) GTEST_SKIP() << "this process may not make a control group with a CPU quota";
  EXPECT_EQ(thread_count({}), cores);
  ASSERT_TRUE(group.limit(1.5));
  EXPECT_DOUBLE_EQ(cpu_quota().value(), std::min(1.5, before.value_or(1.5)));
  EXPECT_EQ(thread_count({}), std::min<int64_t>(2, cores));
  ASSERT_TRUE(group.limit(0.5));
  EXPECT_EQ(thread_count({}), 1);
  EXPECT_EQ(thread_count({7}), 7);
}

TEST(Loader, all_six_are_registered) {
  EXPECT_EQ(Registry<Loader>::global().names(),
            (std::vector<std::string>{"device_prefetched", "device_resident", "lmdbio",
                                      "prefetched", "sync", "threaded"}));
}

}  // namespace
}  // namespace stoker

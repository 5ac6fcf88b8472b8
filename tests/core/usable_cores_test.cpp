#include "io/core/system/usable_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// A machine's /proc and cgroup mounts, as files.
struct Machine {
  TemporaryDirectory dir;
  std::string root = dir.path();

  void write(const std::string& path, const std::string& text) const { dir.write(path, text); }
  void v2(const std::string& group, const std::string& mounted = "/") const {
    write("proc/self/cgroup", "0::" + group + "\n");
    write("proc/self/mountinfo",
          "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
          "30 22 0:26 " +
              mounted + " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup rw,nsdelegate\n");
  }
};

TEST(CpuQuota, is_absent_without_groups_and_without_limits) {
  const Machine machine;
  EXPECT_FALSE(cpu_quota(machine.root));
  machine.v2("/job");
  EXPECT_FALSE(cpu_quota(machine.root));
  machine.write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_FALSE(cpu_quota(machine.root));
}

TEST(CpuQuota, is_the_smallest_of_the_group_and_those_above_it) {
  const Machine machine;
  machine.v2("/kubepods/pod/box");
  machine.write("sys/fs/cgroup/kubepods/cpu.max", "600000 100000\n");
  machine.write("sys/fs/cgroup/kubepods/pod/cpu.max", "150000 100000\n");
  machine.write("sys/fs/cgroup/kubepods/pod/box/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(machine.root).value(), 1.5);
  machine.write("sys/fs/cgroup/kubepods/pod/box/cpu.max", "25000 50000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(machine.root).value(), 0.5);
}

TEST(CpuQuota, of_a_container_that_sees_its_own_group_as_the_root) {
  const Machine machine;
  machine.v2("/");
  machine.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(machine.root).value(), 2);
  machine.v2("/docker/abc", "/docker/abc");
  EXPECT_DOUBLE_EQ(cpu_quota(machine.root).value(), 2);
}

TEST(CpuQuota, of_version_1_beside_an_empty_version_2) {
  const Machine machine;
  machine.write("proc/self/cgroup",
                "5:cpuset:/other\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/x\n0::/\n");
  machine.write("proc/self/mountinfo",
                "30 22 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                "31 22 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cpuset rw,cpuset\n"
                "32 22 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  const std::string group = "sys/fs/cgroup/cpu,cpuacct/docker/abc/";
  machine.write(group + "cpu.cfs_quota_us", "-1\n");
  machine.write(group + "cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cpu_quota(machine.root));
  machine.write(group + "cpu.cfs_quota_us", "350000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(machine.root).value(), 3.5);
}

TEST(UsableCores, are_those_of_the_affinity_mask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(UsableCores, are_divided_among_the_processes_of_one_launcher) {
  const int64_t all = usable_cores();
  share_cores(0, 2);
  EXPECT_EQ(usable_cores(), std::max<int64_t>(1, all / 2));
  share_cores(0, all + 1);
  EXPECT_EQ(usable_cores(), 1);
  share_cores(0, 0);  // it is not known how many they are
  EXPECT_EQ(usable_cores(), all);
}

TEST(OwnCores, of_processes_of_one_launcher_are_others_for_each_as_far_as_they_go) {
  const std::vector<int> all = own_cores();
  ASSERT_FALSE(all.empty());
  const auto processes = static_cast<int64_t>(all.size());
  for (const int64_t of : {int64_t{1}, processes, processes + 1}) {
    std::vector<int> together;
    for (int64_t index = 0; index < of; ++index) {
      share_cores(index, of);
      for (const int core : own_cores()) together.push_back(core);
    }
    std::vector<int> expected = all;
    if (of > processes) expected.push_back(all.front());  // one of them has to be shared
    EXPECT_EQ(together, expected);
  }
  share_cores(0, 0);
  EXPECT_EQ(own_cores(), all);
}

}  // namespace
}  // namespace stoker

#include "io/metrics/machine/system_stats.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include "io/metrics/machine/process_stats.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using ::testing::DoubleEq;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace fs = std::filesystem;

TEST(CpuText, the_line_of_all_cpus_is_in_seconds) {
  const auto cpu = parse_cpu(
      "cpu  100 200 300 400 500 600 700 800 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n", 100);
  ASSERT_TRUE(cpu);
  EXPECT_EQ(*cpu, (CpuSeconds{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_STREQ(kCpuModes[4], "iowait");
}

TEST(CpuText, that_is_short_or_holds_no_number_is_absent) {
  for (const char* text : {"", "cpu\n", "cpu 1 2 3 4 5 6 7\n", "cpu 1 2 3 x 5 6 7 8\n",
                           "cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 3 -4 5 6 7 8\n"}) {
    EXPECT_FALSE(parse_cpu(text, 100)) << text;
  }
}

TEST(MemoryText, is_in_bytes_and_each_figure_stands_alone) {
  const MemoryBytes memory = parse_memory(
      "MemTotal: 9 kB\nMemAvailable:   21829540 kB\nCached:  1917828 kB\nSwapCached: 5 kB\n"
      "Dirty:               0 kB\nWritebackTmp: 3 kB\nWriteback: x kB\n");
  EXPECT_EQ(memory.available, 21829540ull * 1024);
  EXPECT_EQ(memory.cached, 1917828ull * 1024);
  EXPECT_EQ(memory.dirty, 0u);
  EXPECT_EQ(memory.writeback, std::nullopt);
  EXPECT_EQ(parse_memory("").available, std::nullopt);
}

TEST(PressureText, totals_are_in_seconds) {
  const PressureSeconds both = parse_pressure(
      "some avg10=8.13 avg60=2.21 avg300=0.80 total=5560956\n"
      "full avg10=0.00 avg60=0.00 avg300=0.18 total=3000000\n");
  EXPECT_THAT(both.some, testing::Optional(DoubleEq(5.560956)));
  EXPECT_THAT(both.full, testing::Optional(DoubleEq(3)));
}

TEST(PressureText, what_is_missing_or_damaged_is_absent) {
  const PressureSeconds some = parse_pressure("some avg10=0.00 total=0\n");  // cpu before 5.13
  EXPECT_EQ(some.some, 0.0);
  EXPECT_EQ(some.full, std::nullopt);
  for (const char* text : {"", "some avg10=0.00\n", "some total=\n", "some total=1.5\n", "\n"}) {
    EXPECT_EQ(parse_pressure(text).some, std::nullopt) << text;
  }
}

TEST(NetworkText, has_received_and_sent_bytes_of_all_but_the_loopback) {
  const auto networks = parse_networks(
      "Inter-|   Receive                            |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
      "    lo:    3267      29    0    0    0     0          0         0     3267      29    0\n"
      "  eth0: 654484178 11519    0    0    0     0          0         0   481141    7041    0\n"
      "eth0:1:7 0 0 0 0 0 0 0 8 0\n"
      "short: 1 2 3\n"
      "odd: x 0 0 0 0 0 0 0 8 0\n"
      ": 1 0 0 0 0 0 0 0 8 0\n");
  ASSERT_THAT(networks, SizeIs(2));
  EXPECT_EQ(networks[0].device, "eth0");
  EXPECT_EQ(networks[0].received, 654484178u);
  EXPECT_EQ(networks[0].sent, 481141u);
  EXPECT_EQ(networks[1].device, "eth0:1");
  EXPECT_EQ(networks[1].received, 7u);
  EXPECT_EQ(networks[1].sent, 8u);
}

TEST(DiskText, has_only_the_devices_asked_for_a_partition_as_itself) {
  const std::string text =
      "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
      " 259       0 nvme0n1 10 0 8000 5 20 0 9000 6 0 700 11 0 0 0 0 0 0\n"
      " 259       1 nvme0n1p1 10 0 3000 5 20 0 4000 6 0 1500 11\n"
      " 259       2 nvme0n1p2 1 2 3\n"
      " 259       x nvme0n1p3 10 0 3000 5 20 0 4000 6 0 1500 11\n"
      " 259       4 nvme0n1p4 10 0 3000 5 20 0 ? 6 0 1500 11\n";
  const BlockDevice asked[] = {{259, 1}, {259, 2}, {259, 4}, {8, 0}};
  const auto disks = parse_disks(text, asked);
  ASSERT_THAT(disks, SizeIs(1));
  EXPECT_EQ(disks[0].device, "nvme0n1p1");
  EXPECT_EQ(disks[0].read_bytes, 3000u * 512);
  EXPECT_EQ(disks[0].written_bytes, 4000u * 512);
  EXPECT_EQ(disks[0].io_seconds, 1.5);
  EXPECT_THAT(parse_disks(text, {}), IsEmpty());
}

TEST(System, says_what_this_kernel_says) {
  const std::string none[] = {"/proc"};
  const SystemStats stats = read_system_stats(block_devices_under(none));
  ASSERT_TRUE(stats.cpu);
  EXPECT_GT((*stats.cpu)[0] + (*stats.cpu)[2] + (*stats.cpu)[3], 0);
  EXPECT_GT(stats.memory.available.value_or(0), 1u << 20);
  EXPECT_TRUE(stats.memory.cached && stats.memory.dirty && stats.memory.writeback);
  const bool pressure = proc::read("/proc/pressure/io").has_value();
  for (const PressureSeconds& of : stats.pressures) {
    EXPECT_EQ(of.some.has_value(), pressure);
  }
  for (const NetworkBytes& network : stats.networks) {
    EXPECT_TRUE(fs::exists("/sys/class/net/" + network.device)) << network.device;
  }
  EXPECT_THAT(stats.disks, IsEmpty());
}

TEST(System, all_networks_of_this_machine_are_there) {
  size_t expected = 0;
  const auto text = proc::read("/proc/net/dev");
  ASSERT_TRUE(text);
  for (const std::string_view line : proc::split(*text, '\n')) {
    expected += line.find(':') != std::string_view::npos ? 1 : 0;
  }
  EXPECT_THAT(read_system_stats({}).networks,
              SizeIs(expected - (text->find("lo:") != std::string::npos)));
}

TEST(System, finds_the_block_device_under_a_path_once) {
  const TemporaryDirectory directory;
  directory.write("a/b", "x");
  struct stat status {};
  ASSERT_EQ(::stat(directory.path().c_str(), &status), 0);
  const std::string paths[] = {directory.path(), directory / "a/b", directory / "none", "/proc"};
  const std::string number =
      std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
  const fs::path link = "/sys/dev/block/" + number;
  const SystemStats stats = read_system_stats(block_devices_under(paths));
  if (major(status.st_dev) == 0) {
    EXPECT_THAT(block_devices_under(paths), IsEmpty());
    EXPECT_THAT(stats.disks, IsEmpty());
  } else {
    EXPECT_THAT(block_devices_under(paths), SizeIs(1));
    ASSERT_THAT(stats.disks, SizeIs(1));
    EXPECT_TRUE(!fs::exists(link) ||
                stats.disks[0].device == fs::read_symlink(link).filename().string())
        << stats.disks[0].device;
  }
}

TEST(System, a_file_system_without_a_block_device_has_none) {
  const std::string paths[] = {"/proc", "/sys", "/no/such/place"};
  EXPECT_THAT(block_devices_under(paths), IsEmpty());
}

}  // namespace
}  // namespace stoker

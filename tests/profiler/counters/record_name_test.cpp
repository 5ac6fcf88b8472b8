#include "io/profiler/counters/record_name.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>

namespace stoker {
namespace {

std::string name_in(std::string_view directory, std::string_view path) {
  RecordName name;
  return name.set(directory, path) ? std::string(name.text()) : "too long";
}

// Names and numbers of the example logs in PyPI's darshan 3.5.0: one of each length of the last
// block that they have.
TEST(RecordId, is_the_one_that_darshan_has_in_its_logs) {
  const std::string workers =
      "/home/luettgau/tmp/COMPSsWorker/84894e8e-755b-43b1-b019-c8f9312f2d95/localhost/";
  const std::string testbed = "/blues/gpfs/home/luettgau/darshan-decaf/testbed/";
  const std::string jre = testbed +
                          "spack/opt/spack/linux-centos7-broadwell/gcc-8.2.0/"
                          "openjdk-1.8.0_202-b08-fqnnpgtjyfnarl6frohnhtv3nygn2uft/jre/lib/";
  const std::pair<std::string, uint64_t> kRecords[] = {
      {"/tmp/test/macsio-log.log", 12580831639222665179u},
      {"/tmp/ompi.linux.1000/pid.71320/1/C_cid-0-71326.sm", 7378505121952957503u},
      {jre + "amd64/compressedrefs/libj9vm29.so", 3478651315671068344u},
      {"/global/project/projectdirs/m888/glock/tokio-abc-results/inputs/posix1m2.in",
       17513754861097716158u},
      {"/tmp/test/macsio_hdf5_000.h5", 8409215679985794245u},
      {workers + "sandbox_124/mb7tev.txt", 17594952524567808430u},
      {workers + "sandbox_124/newbox.json", 15178893920315549983u},
      {"<STDIN>", 14734109647742566553u},
      {"<STDOUT>", 15920181672442173319u},
      {jre + "ext/cldrdata.jar", 6760141949092426025u},
      {testbed +
           "install/software/COMPSs/Runtime/adaptors/nio/worker/compss-adaptors-nio-worker.jar",
       819042325713584974u},
      {"/scratch/.com_ibm_tools_attach/99341/attachNotificationSync", 15882715108570058571u},
      {jre + "classlib.properties", 8298387431090874701u},
      {"/home/pq/p/software/darshan-pydarshan/darshan-util/pydarshan/examples/darshan-graph/B",
       4590908166289704079u},
      {"/tmp/test/macsio_hdf5_000.h5:/constant", 9271460256448564466u},
      {"/global/cscratch1/sd/ssnyder/test123.h5", 10384774853006289996u},
      {"/scratch/.com_ibm_tools_attach/_notifier", 13686924823038698006u},
      {"/scratch2/scratchdirs/glock/tokioabc-s.4478544/vpicio/vpicio.hdf5", 6301063301082038805u},
      {workers + "pycompss.log", 1133714810970525216u},
      {workers + "pipe_18421430", 6441301817116307320u},
      {workers + "pipe_495465153", 17955172842724341266u},
      {workers + "pipe_1724812780", 2843860242468661567u},
      {workers + "pipe_-1638724884", 18379878333929115688u}};
  for (const auto& [name, id] : kRecords) EXPECT_EQ(record_id(name), id) << name;
}

TEST(RecordName, of_a_relative_path_lies_in_the_directory) {
  EXPECT_EQ(name_in("/data", "train/a.jpg"), "/data/train/a.jpg");
  EXPECT_EQ(name_in("/", "a"), "/a");
  EXPECT_EQ(name_in("/data/", "a"), "/data/a");
  EXPECT_EQ(name_in("/data", "/other"), "/other");
}

TEST(RecordName, has_no_double_slash_and_no_dot_between_slashes) {
  EXPECT_EQ(name_in("", "//a///b//"), "/a/b/");
  EXPECT_EQ(name_in("", "/a/./b/././c"), "/a/b/c");
  EXPECT_EQ(name_in("", "/.//./a"), "/a");
  EXPECT_EQ(name_in("/data", "./a"), "/data/a");
}

TEST(RecordName, keeps_what_darshan_keeps) {
  EXPECT_EQ(name_in("/data", "../a"), "/data/../a");
  EXPECT_EQ(name_in("", "/a/."), "/a/.");
  EXPECT_EQ(name_in("", "/a./b"), "/a./b");
  EXPECT_EQ(name_in("/data", ".a/.b"), "/data/.a/.b");
  EXPECT_EQ(name_in("/data", "<STDIN>"), "<STDIN>");
  EXPECT_EQ(name_in("/data", ""), "");
}

TEST(RecordName, is_no_longer_than_a_path_may_be) {
  const std::string longest = "/" + std::string(PATH_MAX - 1, 'x');
  EXPECT_EQ(name_in("", longest), longest);
  EXPECT_EQ(name_in("", longest + "x"), "too long");
  EXPECT_EQ(name_in("/data", longest.substr(1)), "too long");
}

}  // namespace
}  // namespace stoker

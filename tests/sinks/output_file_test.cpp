#include "io/sinks/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// While it lives, no file of this process grows beyond this many bytes: a disk that is full.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*const handler_)(int);
  rlimit before_{};
};

TEST(OutputFile, keeps_no_part_of_what_could_not_be_written) {
  const TemporaryDirectory directory;
  const OutputFile file(directory / "rows.csv");
  std::string said;
  {
    const SmallFiles small(10);
    file.write("1,2,3\n");
    said = error_of([&] { file.write("4,5,6\n"); });
  }
  EXPECT_EQ(said, "write " + directory / "rows.csv" + ": File too large");
  EXPECT_EQ(directory.read("rows.csv"), "1,2,3\n");
  file.write("7,8,9\n");
  EXPECT_EQ(directory.read("rows.csv"), "1,2,3\n7,8,9\n");
}

}  // namespace
}  // namespace stoker

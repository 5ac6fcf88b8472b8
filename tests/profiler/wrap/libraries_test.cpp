#include <ATen/core/Tensor.h>
#include <ATen/ops/from_file.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lmdb.h>

#include <opencv2/core/persistence.hpp>

#include "tests/profiler/wrap/attached.h"
#include "tests/support/temporary_directory.h"

#ifdef STOKER_HAS_HDF5
#include <hdf5.h>
#endif

// Calls that libraries of other people make themselves.

namespace stoker {
namespace {

using testing::Contains;
using testing::StartsWith;

class LibraryCalls : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a";
};

TEST_F(LibraryCalls, of_LibTorch_are_seen) {
  directory_.write("a", "0123456789");
  const auto lines = told_of(
      [&] { at::from_file(path_, /*shared=*/false, /*size=*/10, at::TensorOptions(at::kByte)); });
  EXPECT_THAT(lines, Contains("opened " + path_));
  EXPECT_THAT(lines, Contains("mapped"));
}

TEST_F(LibraryCalls, of_OpenCV_are_seen) {
  const std::string path = directory_ / "a.yaml";
  const auto lines = told_of([&] {
    cv::FileStorage file(path, cv::FileStorage::WRITE);
    file << "number" << 1;
  });
  EXPECT_THAT(lines, Contains("stream opened " + path));
  EXPECT_THAT(lines, Contains(StartsWith("stream wrote")));
}

TEST_F(LibraryCalls, of_liblmdb_are_seen) {
  const auto lines = told_of([&] {
    MDB_env* environment = nullptr;
    ASSERT_EQ(mdb_env_create(&environment), 0);
    EXPECT_EQ(mdb_env_open(environment, path_.c_str(), MDB_NOSUBDIR, 0644), 0);
    mdb_env_close(environment);
  });
  EXPECT_THAT(lines, Contains(StartsWith("opened " + path_)));
  EXPECT_THAT(lines, Contains(StartsWith("wrote")));
  EXPECT_THAT(lines, Contains("mapped"));
}

#ifdef STOKER_HAS_HDF5
TEST_F(LibraryCalls, of_libhdf5_are_seen) {
  const auto lines = told_of([&] {
    const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(file, 0);
    H5Fclose(file);
  });
  EXPECT_THAT(lines, Contains(StartsWith("opened " + path_)));
  EXPECT_THAT(lines, Contains(StartsWith("wrote")));
}
#endif

}  // namespace
}  // namespace stoker

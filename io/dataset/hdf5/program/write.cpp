#include "io/dataset/hdf5/program/write.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "io/dataset/hdf5/program/handle.h"

namespace stoker {
namespace {

constexpr const char* kFailure = "can't be written";

void check(bool worked) { check_hdf5(worked, kFailure); }

// The file that the parent gave, as sparse as it is written.
class GivenFile final : public Hdf5Medium {
 public:
  uint64_t bytes() const override {
    struct stat status {};
    return ::fstat(kHdf5FileDescriptor, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
  }
  bool read(uint64_t offset, size_t bytes, void* out) override {
    auto* const to = static_cast<uint8_t*>(out);
    const ssize_t count = ::pread(kHdf5FileDescriptor, to, bytes, static_cast<off_t>(offset));
    if (count >= 0) std::fill(to + count, to + bytes, uint8_t{0});
    return count >= 0;
  }
  bool write(uint64_t offset, size_t bytes, const void* from) override {
    return ::pwrite(kHdf5FileDescriptor, from, bytes, static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(bytes);
  }
  bool resize(uint64_t bytes) override {
    return ::ftruncate(kHdf5FileDescriptor, static_cast<off_t>(bytes)) == 0;
  }
};

// A new data set of one dimension, whose place in the file is given at once.
Hdf5Handle make(hid_t file, const char* name, hid_t type, hsize_t elements) {
  const Hdf5Handle space(H5Screate_simple(1, &elements, nullptr), H5Sclose, kFailure);
  const Hdf5Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, kFailure);
  check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY) >= 0);
  check(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER) >= 0);
  check(H5Pset_obj_track_times(list.get(), false) >= 0);  // the same samples, the same file
  return {H5Dcreate2(file, name, type, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT), H5Dclose,
          kFailure};
}

// The next bytes that the parent has, as a data set.
void copy(Hdf5Parent& parent, uint64_t& offset, hid_t file, const char* name, hid_t type,
          uint64_t elements) {
  const Hdf5Handle set = make(file, name, type, elements);
  std::vector<uint8_t> bytes(elements * H5Tget_size(type));
  if (!parent.read(offset, bytes.size(), bytes.data())) throw Hdf5Refusal(kFailure);
  offset += bytes.size();
  if (bytes.empty()) return;
  check(H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0);
}

}  // namespace

uint64_t frame_bytes(const Hdf5Frame& frame) {
  return 8 * (frame.samples + 1) + (8 + frame.key_bytes) * frame.samples;
}

uint64_t write_hdf5(Hdf5Parent& parent, const Hdf5Frame& frame) {
  const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, kFailure);
  check(H5Pset_obj_track_times(creation.get(), false) >= 0);
  GivenFile medium;
  const Hdf5Handle access = access_to(medium);
  // The first form with checksums of its headers.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST) >= 0);
  const Hdf5Handle file(H5Fcreate("shard", H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose,
                        kFailure);
  const Hdf5Handle key(H5Tcopy(H5T_C_S1), H5Tclose, kFailure);
  check(H5Tset_size(key.get(), frame.key_bytes) >= 0);
  check(H5Tset_strpad(key.get(), H5T_STR_NULLPAD) >= 0);
  check(H5Tset_cset(key.get(), H5T_CSET_UTF8) >= 0);
  uint64_t offset = 0;
  copy(parent, offset, file.get(), "offsets", H5T_STD_U64LE, frame.samples + 1);
  copy(parent, offset, file.get(), "labels", H5T_STD_I64LE, frame.samples);
  copy(parent, offset, file.get(), "keys", key.get(), frame.samples);
  const Hdf5Handle images = make(file.get(), "images", H5T_STD_U8LE, frame.image_bytes);
  check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0);
  const haddr_t place = H5Dget_offset(images.get());
  if (place == HADDR_UNDEF && frame.image_bytes > 0) throw Hdf5Refusal(kFailure);
  return frame.image_bytes > 0 ? place : 0;
}

}  // namespace stoker

#include "io/dataset/formats/hdf5/program/write.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "io/dataset/formats/hdf5/program/library.h"
#include "io/dataset/formats/hdf5/protocol.h"

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

// The type that NumPy calls so.
Hdf5Handle type_of(const std::string& name) {
  if (name.starts_with('S')) {
    Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, kFailure);
    check(H5Tset_size(type.get(), std::stoull(name.substr(1))) >= 0);
    check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD) >= 0);
    check(H5Tset_cset(type.get(), H5T_CSET_UTF8) >= 0);
    return type;
  }
  const std::map<std::string, hid_t> known{{"u1", H5T_STD_U8LE},
                                           {"u8", H5T_STD_U64LE},
                                           {"i4", H5T_STD_I32LE},
                                           {"i8", H5T_STD_I64LE},
                                           {"f4", H5T_IEEE_F32LE}};
  const auto found = known.find(name);
  if (found == known.end()) throw Hdf5Refusal("can't be written: type " + name + " is unknown");
  return {H5Tcopy(found->second), H5Tclose, kFailure};
}

std::vector<hsize_t> shape_of(const std::string& text) {
  std::vector<hsize_t> shape;
  for (size_t at = 0; at <= text.size(); at = text.find('x', at) + 1) {
    shape.push_back(std::stoull(text.substr(at)));
    if (text.find('x', at) == std::string::npos) break;
  }
  return shape;
}

// A new data set, whose place in the file is given at once. That place; 0: it has no elements.
uint64_t make(hid_t file, const std::string& path, const std::string& type,
              const std::vector<hsize_t>& shape, bool chunk) {
  const auto rank = static_cast<int>(shape.size());
  const bool empty = std::ranges::find(shape, 0u) != shape.end();
  const Hdf5Handle space(H5Screate_simple(rank, shape.data(), nullptr), H5Sclose, kFailure);
  const Hdf5Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, kFailure);
  if (chunk && !empty) check(H5Pset_chunk(list.get(), rank, shape.data()) >= 0);
  check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY) >= 0);
  check(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER) >= 0);
  check(H5Pset_obj_track_times(list.get(), false) >= 0);  // the same data sets, the same file
  const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose, kFailure);
  check(H5Pset_create_intermediate_group(links.get(), 1) >= 0);
  const Hdf5Handle kind = type_of(type);
  const Hdf5Handle set(
      H5Dcreate2(file, path.c_str(), kind.get(), space.get(), links.get(), list.get(), H5P_DEFAULT),
      H5Dclose, kFailure);
  if (empty) return 0;
  haddr_t place = HADDR_UNDEF;
  if (chunk) {
    const std::vector<hsize_t> first(shape.size(), 0);
    unsigned skipped = 0;
    hsize_t bytes = 0;
    check(H5Dget_chunk_info_by_coord(set.get(), first.data(), &skipped, &place, &bytes) >= 0);
  } else {
    place = H5Dget_offset(set.get());
  }
  if (place == HADDR_UNDEF) throw Hdf5Refusal(kFailure);
  return place;
}

}  // namespace

std::vector<uint64_t> write_hdf5(const std::vector<std::string>& words) {
  const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, kFailure);
  check(H5Pset_obj_track_times(creation.get(), false) >= 0);
  GivenFile medium;
  const Hdf5Handle access = access_to(medium);
  // The first form with checksums of its headers.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST) >= 0);
  const Hdf5Handle file(H5Fcreate("shard", H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose,
                        kFailure);
  std::vector<uint64_t> places;
  for (size_t i = 0; i + 3 < words.size(); i += 4) {
    places.push_back(
        make(file.get(), words[i], words[i + 1], shape_of(words[i + 2]), words[i + 3] == "chunk"));
  }
  check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0);
  return places;
}

}  // namespace stoker

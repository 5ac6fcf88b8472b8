#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/dataset/formats/hdf5/program/library.h"
#include "io/dataset/formats/hdf5/protocol.h"

namespace stoker {

// A data set of an open file. Everything throws Hdf5Refusal, which names it. One thread.
class Hdf5DataSet {
 public:
  // False: no data set has that path. A path through links out of the file is refused.
  static bool is_there(hid_t file, const std::string& path);
  // The paths of the first data sets of the file, at most kHdf5MaxPaths.
  static std::vector<std::string> all_paths(hid_t file);
  // Refuses external storage, virtual data sets, and filters but deflate and shuffle.
  Hdf5DataSet(hid_t file, std::string path);

  const std::vector<hsize_t>& shape() const { return shape_; }
  uint64_t elements() const;
  // The handle of the creation list.
  hid_t list() const { return list_.get(); }
  hid_t id() const { return set_.get(); }
  H5T_class_t type_class() const { return H5Tget_class(type_.get()); }
  size_t element_bytes() const { return H5Tget_size(type_.get()); }
  bool big_endian() const;
  bool is_signed() const { return H5Tget_sign(type_.get()) != H5T_SGN_NONE; }
  // Whole numbers, at most `most`, as 64 bits of that type.
  template <class T>
  std::vector<T> numbers(uint64_t most) const;
  // Strings of fixed length, one after another.
  std::string strings(uint64_t most) const;

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  void check_storage() const;
  void check_count(uint64_t most) const;
  void read(hid_t as, void* to) const;

  const std::string path_;
  const Hdf5Handle set_;
  const Hdf5Handle list_;
  const Hdf5Handle type_;
  std::vector<hsize_t> shape_;
};

}  // namespace stoker

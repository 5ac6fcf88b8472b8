#include "io/dataset/formats/hdf5/program/data_set.h"

#include <array>
#include <type_traits>
#include <utility>

namespace stoker {
namespace {

std::string name(const std::string& path) { return "data set '" + path + "'"; }

bool is_data_set(hid_t file, const char* path) {
  const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
  if (object < 0) return false;
  const bool is = H5Iget_type(object) == H5I_DATASET;
  H5Oclose(object);
  return is;
}

// Called from C for each link; not 0: enough.
herr_t add_path(hid_t file, const char* path, const H5L_info_t* link, void* paths) {
  auto& all = *static_cast<std::vector<std::string>*>(paths);
  const std::string text(path);
  if (link->type == H5L_TYPE_HARD && text.size() <= kHdf5MaxKey && is_data_set(file, path)) {
    all.push_back(text);
  }
  return all.size() < kHdf5MaxPaths ? 0 : 1;
}

}  // namespace

bool Hdf5DataSet::is_there(hid_t file, const std::string& path) {
  for (size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (part.empty() || part == "/") continue;
    const htri_t there = H5Lexists(file, part.c_str(), H5P_DEFAULT);
    check_hdf5(there >= 0, name(path) + " can't be looked for");
    if (there == 0) return false;
    H5L_info_t link{};
    check_hdf5(H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT) >= 0,
               name(path) + " can't be looked for");
    if (link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT) {
      throw Hdf5Refusal("has a link out of the file ('" + part +
                        "', an external one), which is not followed");
    }
  }
  const hid_t object = H5Oopen(file, path.c_str(), H5P_DEFAULT);
  if (object < 0) return true;  // who opens it learns why not
  const bool group = H5Iget_type(object) == H5I_GROUP;
  H5Oclose(object);
  return !group;
}

std::vector<std::string> Hdf5DataSet::all_paths(hid_t file) {
  std::vector<std::string> paths;
  // What is damaged has none.
  (void)H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, add_path, &paths);
  return paths;
}

Hdf5DataSet::Hdf5DataSet(hid_t file, std::string path)
    : path_(std::move(path)),
      set_(H5Dopen2(file, path_.c_str(), H5P_DEFAULT), H5Dclose, name(path_) + " can't be opened"),
      list_(H5Dget_create_plist(set_.get()), H5Pclose, name(path_) + " can't be opened"),
      type_(H5Dget_type(set_.get()), H5Tclose, name(path_) + " has no type") {
  check_storage();  // before its shape, because a virtual one's shape is read from other files
  const Hdf5Handle space(H5Dget_space(set_.get()), H5Sclose, name(path_) + " has no shape");
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL || rank < 0 ||
      rank > static_cast<int>(kHdf5MaxRank)) {
    refuse("has no shape");
  }
  shape_.resize(static_cast<size_t>(rank));
  check_hdf5(H5Sget_simple_extent_dims(space.get(), shape_.data(), nullptr) >= 0,
             name(path_) + " has no shape");
}

void Hdf5DataSet::refuse(const std::string& why) const {
  throw Hdf5Refusal("can't be read: " + name(path_) + " " + why);
}

void Hdf5DataSet::check_storage() const {
  if (H5Pget_layout(list_.get()) == H5D_VIRTUAL) refuse("is a virtual one, made of other files");
  if (H5Pget_external_count(list_.get()) != 0) refuse("lies in other files (external storage)");
  const int filters = H5Pget_nfilters(list_.get());
  check_hdf5(filters >= 0, name(path_) + " has damaged filters");
  for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
    std::array<char, 64> text{};
    unsigned flags = 0, settings = 0;
    size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(list_.get(), i, &flags, &values, nullptr,
                                               text.size() - 1, text.data(), &settings);
    if (filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE) continue;
    refuse("has filter " + std::to_string(filter) + " (" + text.data() +
           "): only deflate (gzip) and shuffle are read; write it again with these or with none");
  }
}

uint64_t Hdf5DataSet::elements() const {
  uint64_t all = 1;
  for (const hsize_t size : shape_) {
    if (size != 0 && all > (uint64_t{1} << 56) / size) refuse("is too large");
    all *= size;
  }
  return all;
}

bool Hdf5DataSet::big_endian() const {
  return element_bytes() > 1 && H5Tget_order(type_.get()) != H5T_ORDER_LE;
}

void Hdf5DataSet::check_count(uint64_t most) const {
  if (elements() > most) {
    refuse("has " + std::to_string(elements()) + " elements, where at most " +
           std::to_string(most) + " are expected");
  }
}

void Hdf5DataSet::read(hid_t as, void* to) const {
  check_hdf5(H5Dread(set_.get(), as, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0,
             "can't be read: " + name(path_) + " is damaged");
}

template <class T>
std::vector<T> Hdf5DataSet::numbers(uint64_t most) const {
  if (type_class() != H5T_INTEGER) refuse("has no whole numbers");
  check_count(most);
  std::vector<T> values(elements());
  read(std::is_signed_v<T> ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, values.data());
  return values;
}
template std::vector<int64_t> Hdf5DataSet::numbers(uint64_t most) const;
template std::vector<uint64_t> Hdf5DataSet::numbers(uint64_t most) const;

std::string Hdf5DataSet::strings(uint64_t most) const {
  if (type_class() != H5T_STRING || H5Tis_variable_str(type_.get()) != 0 ||
      element_bytes() > kHdf5MaxKey) {
    refuse("has no strings of a fixed length of at most " + std::to_string(kHdf5MaxKey) + " bytes");
  }
  check_count(most);
  std::string texts(elements() * element_bytes(), '\0');
  if (texts.size() > kHdf5MaxAnswer / 2) refuse("is too large");
  read(type_.get(), texts.data());
  return texts;
}

}  // namespace stoker

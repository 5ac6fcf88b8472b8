#include "io/dataset/hdf5/program/parent_file.h"

#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>  // libhdf5 1.13 and newer
#endif

#include <cstdint>
#include <new>

namespace stoker {
namespace {

// What the access list carries; libhdf5 copies it byte for byte.
struct ParentInfo {
  Hdf5Parent* parent;
};

// An open file of libhdf5's: it looks at the first member.
struct ParentFile {
  H5FD_t common;
  Hdf5Parent* parent;
  haddr_t end_of_addresses;
};

H5FD_t* open_parent(const char* /*name*/, unsigned flags, hid_t access, haddr_t /*most*/) {
  const auto* const info = static_cast<const ParentInfo*>(H5Pget_driver_info(access));
  if (info == nullptr || (flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) != 0) {
    return nullptr;
  }
  auto* const file = new (std::nothrow) ParentFile{};
  if (file != nullptr) file->parent = info->parent;
  return reinterpret_cast<H5FD_t*>(file);
}

herr_t close_parent(H5FD_t* file) {
  delete reinterpret_cast<ParentFile*>(file);
  return 0;
}

herr_t query_parent(const H5FD_t* /*file*/, unsigned long* flags) {
  *flags = 0;
  return 0;
}

haddr_t addresses_end(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return reinterpret_cast<const ParentFile*>(file)->end_of_addresses;
}

herr_t set_addresses_end(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t end) {
  reinterpret_cast<ParentFile*>(file)->end_of_addresses = end;
  return 0;
}

haddr_t file_end(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return reinterpret_cast<const ParentFile*>(file)->parent->bytes();
}

herr_t read_parent(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address,
                   size_t bytes, void* out) {
  return reinterpret_cast<ParentFile*>(file)->parent->read(address, bytes, out) ? 0 : -1;
}

herr_t refuse_write(H5FD_t* /*file*/, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t /*address*/,
                    size_t /*bytes*/, const void* /*from*/) {
  return -1;
}

H5FD_class_t parent_driver() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(600);  // of those that anybody may take
#endif
  driver.name = "stoker";
  driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(ParentInfo);
  driver.open = open_parent;
  driver.close = close_parent;
  driver.query = query_parent;
  driver.get_eoa = addresses_end;
  driver.set_eoa = set_addresses_end;
  driver.get_eof = file_end;
  driver.read = read_parent;
  driver.write = refuse_write;
  return driver;
}

}  // namespace

Hdf5Handle parent_access(Hdf5Parent& parent) {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "libhdf5 does not start");
  const H5FD_class_t driver = parent_driver();
  const ParentInfo info{&parent};
  const Hdf5Handle id(H5FDregister(&driver), H5FDunregister, "libhdf5 takes no driver");
  check_hdf5(H5Pset_driver(access.get(), id.get(), &info) >= 0, "libhdf5 takes no driver");
  return access;
}

}  // namespace stoker

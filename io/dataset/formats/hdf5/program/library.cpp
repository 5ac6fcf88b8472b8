#include "io/dataset/formats/hdf5/program/library.h"

#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>  // libhdf5 1.13 and newer
#endif

#include <cstdint>
#include <new>

namespace stoker {
namespace {

// What the access list carries; libhdf5 copies it byte for byte.
struct MediumInfo {
  Hdf5Medium* medium;
};

// An open file of libhdf5's: it looks at the first member.
struct MediumFile {
  H5FD_t common;
  Hdf5Medium* medium;
  haddr_t end_of_addresses;
};

H5FD_t* open_medium(const char* /*name*/, unsigned /*flags*/, hid_t access, haddr_t /*most*/) {
  const auto* const info = static_cast<const MediumInfo*>(H5Pget_driver_info(access));
  if (info == nullptr) return nullptr;
  auto* const file = new (std::nothrow) MediumFile{};
  if (file != nullptr) file->medium = info->medium;
  return reinterpret_cast<H5FD_t*>(file);
}

herr_t close_medium(H5FD_t* file) {
  delete reinterpret_cast<MediumFile*>(file);
  return 0;
}

herr_t query_medium(const H5FD_t* /*file*/, unsigned long* flags) {
  *flags = 0;
  return 0;
}

haddr_t addresses_end(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return reinterpret_cast<const MediumFile*>(file)->end_of_addresses;
}

herr_t set_addresses_end(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t end) {
  reinterpret_cast<MediumFile*>(file)->end_of_addresses = end;
  return 0;
}

haddr_t file_end(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return reinterpret_cast<const MediumFile*>(file)->medium->bytes();
}

herr_t read_medium(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address,
                   size_t bytes, void* out) {
  return reinterpret_cast<MediumFile*>(file)->medium->read(address, bytes, out) ? 0 : -1;
}

herr_t write_medium(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address,
                    size_t bytes, const void* from) {
  return reinterpret_cast<MediumFile*>(file)->medium->write(address, bytes, from) ? 0 : -1;
}

// What was given a place and not written is part of the file.
herr_t truncate_medium(H5FD_t* file, hid_t /*transfer*/, hbool_t /*closing*/) {
  const auto* const self = reinterpret_cast<const MediumFile*>(file);
  if (self->end_of_addresses == self->medium->bytes()) return 0;
  return self->medium->resize(self->end_of_addresses) ? 0 : -1;
}

H5FD_class_t medium_driver() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(600);  // of those that anybody may take
#endif
  driver.name = "stoker";
  driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(MediumInfo);
  driver.open = open_medium;
  driver.close = close_medium;
  driver.query = query_medium;
  driver.get_eoa = addresses_end;
  driver.set_eoa = set_addresses_end;
  driver.get_eof = file_end;
  driver.read = read_medium;
  driver.write = write_medium;
  driver.truncate = truncate_medium;
  return driver;
}

}  // namespace

Hdf5Handle access_to(Hdf5Medium& medium) {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "libhdf5 does not start");
  const H5FD_class_t driver = medium_driver();
  const MediumInfo info{&medium};
  const Hdf5Handle id(H5FDregister(&driver), H5FDunregister, "libhdf5 takes no driver");
  check_hdf5(H5Pset_driver(access.get(), id.get(), &info) >= 0, "libhdf5 takes no driver");
  return access;
}

namespace {

// The first that it says, which is the innermost.
herr_t note(unsigned number, const H5E_error2_t* error, void* text) {
  if (number == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

}  // namespace

Hdf5Handle::Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const std::string& failure)
    : id_(id), close_(close) {
  check_hdf5(id >= 0, failure);
}

void check_hdf5(bool worked, const std::string& failure) {
  if (worked) return;
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note, &reason);
  throw Hdf5Refusal(failure + (reason.empty() ? "" : " (libhdf5: " + reason + ")"));
}

}  // namespace stoker

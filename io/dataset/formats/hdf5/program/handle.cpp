#include "io/dataset/formats/hdf5/program/handle.h"

namespace stoker {
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

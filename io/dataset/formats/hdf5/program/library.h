#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stoker {

// Why the file is not read, for whoever trains on it. A value.
class Hdf5Refusal final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A data set that was asked for is not there. A value.
struct Hdf5Absent {
  std::string path;
  std::string what_to_do;
  std::vector<std::string> there;
};

// Owns an object of libhdf5. One thread, as all of this program.
class Hdf5Handle {
 public:
  // `failure`: what can't be done where libhdf5 gave no object; its own reason is added.
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const std::string& failure);
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t get() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Hdf5Refusal with libhdf5's own reason where `result` is one of its failures.
void check_hdf5(bool worked, const std::string& failure);

// The bytes of a file, for libhdf5. What fails is false, not an exception: it is called from C. One
// thread.
class Hdf5Medium {
 public:
  virtual ~Hdf5Medium() = default;
  virtual uint64_t bytes() const = 0;
  virtual bool read(uint64_t offset, size_t bytes, void* out) = 0;
  // Both fail for a file that is only read.
  virtual bool write(uint64_t /*offset*/, size_t /*bytes*/, const void* /*from*/) { return false; }
  virtual bool resize(uint64_t /*bytes*/) { return false; }
};

// An access list for H5Fopen() or H5Fcreate(), with which the file is the medium, whatever its
// name. The medium must outlive it and the file.
Hdf5Handle access_to(Hdf5Medium& medium);

}  // namespace stoker

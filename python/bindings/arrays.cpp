#include "python/bindings/arrays.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "io/core/error.h"
#include "python/bindings/process.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

// What an array keeps alive.
struct Kept {
  std::shared_ptr<void> memory;
  InOwnProcess in_own_process;
};

void let_go(void* pointer) noexcept {
  auto* const kept = static_cast<Kept*>(pointer);
  kept->in_own_process(kept);
}

nb::dlpack::dtype dtype_of(ArrayType type) {
  switch (type) {
    case ArrayType::uint8:
      return nb::dtype<uint8_t>();
    case ArrayType::float32:
      return nb::dtype<float>();
    case ArrayType::int64:
      break;
  }
  return nb::dtype<int64_t>();
}

// An object of Python's that is let go on any thread, unless the interpreter has ended.
std::shared_ptr<void> hold(nb::object object) {
  return {object.release().ptr(), [](void* pointer) {
            if (!nb::is_alive()) return;
            const nb::gil_scoped_acquire with;
            Py_DECREF(static_cast<PyObject*>(pointer));
          }};
}

using HostBytes = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

HostMemory allocate_by(nb::handle allocate, size_t bytes) {
  constexpr size_t kAlignment = 64;
  const nb::object given = allocate(bytes + kAlignment);
  HostBytes array;
  if (!nb::try_cast(given, array, false) || array.size() < bytes + kAlignment) {
    throw Error(ExitCode::config,
                fmt::format("allocate({}) must give a uint8 array of that many bytes in the host's "
                            "memory, got {}",
                            bytes + kAlignment, nb::repr(given.type()).c_str()));
  }
  const auto address = reinterpret_cast<uintptr_t>(array.data());
  auto* const begin = reinterpret_cast<uint8_t*>(rounded_up(address, kAlignment));
  return {{hold(given), begin}, bytes, true};
}

}  // namespace

nb::object array_of(std::shared_ptr<void> memory, void* data, ArrayType type,
                    const std::vector<size_t>& shape, const std::vector<int64_t>& strides) {
  return array_of(std::move(memory), data, dtype_of(type), shape, strides);
}

nb::object array_of(std::shared_ptr<void> memory, void* data, nb::dlpack::dtype type,
                    const std::vector<size_t>& shape, const std::vector<int64_t>& strides) {
  const nb::capsule owner(std::make_unique<Kept>(Kept{std::move(memory), {}}).release(), let_go);
  return nb::cast(nb::ndarray<nb::array_api>(data, shape.size(), shape.data(), owner,
                                             strides.empty() ? nullptr : strides.data(), type));
}

HostAllocator allocator_of(nb::object allocate) {
  if (allocate.is_none()) return [](size_t bytes) { return allocate_huge(bytes, true); };
  return [held = hold(std::move(allocate))](size_t bytes) {
    const nb::gil_scoped_acquire with;
    // An error of Python's must not cross threads: it refers to objects of this one.
    try {
      return allocate_by(static_cast<PyObject*>(held.get()), bytes);
    } catch (const nb::python_error& error) {
      throw Error(ExitCode::environment, fmt::format("allocate({}): {}", bytes, error.what()));
    }
  };
}

std::string dtype_name(nb::dlpack::dtype type) {
  if (type.lanes != 1) return "";
  using Code = nb::dlpack::dtype_code;
  const std::string bits = std::to_string(type.bits);
  std::string name;
  switch (static_cast<Code>(type.code)) {
    case Code::Float:
      name = "F" + bits;
      break;
    case Code::Bfloat:
      name = "BF" + bits;
      break;
    case Code::Int:
      name = "I" + bits;
      break;
    case Code::UInt:
      name = "U" + bits;
      break;
    case Code::Bool:
      name = "BOOL";
      break;
    default:
      break;
  }
  return dtype_bytes(name) == 0 ? "" : name;
}

void refuse_tensor(const std::string& name, const std::string& why) {
  throw Error(ExitCode::config, fmt::format("tensor '{}': {}", name, why));
}

}  // namespace stoker::python

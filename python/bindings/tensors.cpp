#include "python/bindings/tensors.h"

namespace nb = nanobind;

namespace stoker::python {

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

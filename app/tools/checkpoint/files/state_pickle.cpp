#include "app/tools/checkpoint/files/state_pickle.h"

#include <algorithm>
#include <array>
#include <utility>

#include "app/tools/checkpoint/files/input_file.h"
#include "app/tools/checkpoint/files/pickle_codes.h"

namespace stoker {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 10> kStorages{
    {{"F64", "DoubleStorage"},
     {"F32", "FloatStorage"},
     {"F16", "HalfStorage"},
     {"BF16", "BFloat16Storage"},
     {"I64", "LongStorage"},
     {"I32", "IntStorage"},
     {"I16", "ShortStorage"},
     {"I8", "CharStorage"},
     {"U8", "ByteStorage"},
     {"BOOL", "BoolStorage"}}};

// The words of a pickle, one after the other.
class Pickler {
 public:
  Pickler() { code(Pickle::proto).number(2, 1); }

  Pickler& code(Pickle code) {
    text_ += static_cast<char>(code);
    return *this;
  }
  Pickler& number(uint64_t value, size_t bytes) {
    append_little_endian(text_, value, bytes);
    return *this;
  }
  Pickler& global(const std::string& module, const std::string& name) {
    code(Pickle::global);
    text_ += module + "\n" + name + "\n";
    return *this;
  }
  Pickler& text(const std::string& value) {
    code(Pickle::unicode).number(value.size(), 4);
    text_ += value;
    return *this;
  }
  Pickler& integer(uint64_t value) {
    if (value < 1u << 31) return code(Pickle::int4).number(value, 4);
    return code(Pickle::long1).number(9, 1).number(value, 8).number(0, 1);
  }
  Pickler& tuple(const std::vector<int64_t>& values) {
    code(Pickle::mark);
    for (const int64_t value : values) integer(static_cast<uint64_t>(value));
    return code(Pickle::tuple);
  }
  Pickler& empty_dictionary() {
    return global("collections", "OrderedDict").code(Pickle::empty_tuple).code(Pickle::reduce);
  }
  std::string finish() && {
    code(Pickle::stop);
    return std::move(text_);
  }

 private:
  std::string text_;
};

// Of a tensor in row-major order, as torch has them.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<int64_t>(1, shape[i]);
  }
  return strides;
}

}  // namespace

std::string storage_class(const std::string& dtype) {
  for (const auto& [known, name] : kStorages) {
    if (dtype == known) return name;
  }
  return "";
}

std::string dtype_of_storage(std::string_view storage) {
  for (const auto& [dtype, name] : kStorages) {
    if (storage == name) return dtype;
  }
  return "";
}

std::string state_pickle(const std::vector<TensorInfo>& tensors) {
  Pickler pickle;
  pickle.empty_dictionary().code(Pickle::mark);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& tensor = tensors[i];
    pickle.text(tensor.name).global("torch._utils", "_rebuild_tensor_v2").code(Pickle::mark);
    pickle.code(Pickle::mark).text("storage").global("torch", storage_class(tensor.dtype));
    pickle.text(std::to_string(i)).text("cpu").integer(tensor.bytes / dtype_bytes(tensor.dtype));
    pickle.code(Pickle::tuple).code(Pickle::persistent);
    pickle.integer(0).tuple(tensor.shape).tuple(dense_strides(tensor.shape));
    pickle.code(Pickle::new_false).empty_dictionary();
    pickle.code(Pickle::tuple).code(Pickle::reduce);
  }
  return std::move(pickle.code(Pickle::set_items)).finish();
}

}  // namespace stoker

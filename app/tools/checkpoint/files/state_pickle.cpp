#include "app/tools/checkpoint/files/state_pickle.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "app/tools/checkpoint/files/open_tensors.h"
#include "app/tools/checkpoint/files/stored_tensors.h"
#include "app/tools/checkpoint/files/unpickler.h"
#include "io/core/text/text.h"

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

using Kind = PickleValue::Kind;
using Ref = PickleValue::Ref;

constexpr int kMaxDepth = 32;
constexpr size_t kMaxName = 4096;  // of a tensor

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

// What a pickle has left, as tensors with names.
class StateReader {
 public:
  explicit StateReader(const Unpickled& pickle) : values_(pickle.values) {
    if (values_[pickle.root].kind != Kind::dictionary) {
      refuse_pickle("it holds no state dict: save what model.state_dict() gives");
    }
    collect("", pickle.root, 0);
  }
  PickledState take() && { return std::move(result_); }

 private:
  void collect(const std::string& name, Ref ref, int depth);
  PickledTensor tensor(const std::string& name, const PickleValue& value) const;
  std::vector<int64_t> numbers(const std::string& name, Ref ref) const;

  const std::deque<PickleValue>& values_;
  uint64_t visited_ = 0;
  PickledState result_;
};

// Finds the tensors below a value.
void StateReader::collect(const std::string& name, Ref ref, int depth) {
  const PickleValue& value = values_[ref];
  if (name.size() > kMaxName)
    refuse_pickle("a name has {} bytes; at most {}", name.size(), kMaxName);
  if (depth > kMaxDepth) refuse_pickle("{}: nested more than {} deep", printable(name), kMaxDepth);
  if (++visited_ > kMaxPickleValues)
    refuse_pickle("the pickle has more than {} values", kMaxPickleValues);
  const std::string before = name.empty() ? "" : name + ".";
  if (value.kind == Kind::tensor) {
    if (result_.tensors.size() == kMaxForeignTensors) {
      refuse_pickle("it has more than {} tensors", kMaxForeignTensors);
    }
    result_.tensors.push_back(tensor(name, value));
  } else if (value.kind == Kind::dictionary) {
    for (size_t i = 0; i < value.items.size(); i += 2) {
      const PickleValue& key = values_[value.items[i]];
      if (key.kind != Kind::text && key.kind != Kind::integer) {
        refuse_pickle("{}: a key is neither text nor a whole number",
                      name.empty() ? "the state dict" : printable(name));
      }
      const std::string word = key.kind == Kind::text ? key.text : std::to_string(key.integer);
      collect(before + word, value.items[i + 1], depth + 1);
    }
  } else if (value.kind == Kind::tuple || value.kind == Kind::list) {
    for (size_t i = 0; i < value.items.size(); ++i) {
      collect(before + std::to_string(i), value.items[i], depth + 1);
    }
  } else if (result_.others.size() < kMaxForeignTensors) {
    result_.others.push_back(name);
  }
}

std::vector<int64_t> StateReader::numbers(const std::string& name, Ref ref) const {
  std::vector<int64_t> result;
  if (values_[ref].items.size() > kMaxDimensions) {
    refuse_pickle("tensor {}: {} dimensions; at most {}", printable(name),
                  values_[ref].items.size(), kMaxDimensions);
  }
  for (const Ref item : values_[ref].items) {
    const PickleValue& value = values_[item];
    if (value.kind != Kind::integer || value.integer < 0) {
      refuse_pickle("tensor {}: a size or a stride is no whole number from 0 on", printable(name));
    }
    result.push_back(value.integer);
  }
  return result;
}

PickledTensor StateReader::tensor(const std::string& name, const PickleValue& value) const {
  const std::vector<Ref>& storage = values_[value.items[0]].items;
  const int64_t offset = values_[value.items[1]].integer;
  PickledTensor tensor{name,
                       values_[storage[0]].text,
                       numbers(name, value.items[2]),
                       numbers(name, value.items[3]),
                       static_cast<uint64_t>(offset),
                       values_[storage[1]].text,
                       static_cast<uint64_t>(values_[storage[2]].integer)};
  if (!is_text(name) || name.empty())
    refuse_pickle("a tensor has no name, or one that is no UTF-8");
  if (offset < 0 || tensor.shape.size() != tensor.strides.size()) {
    refuse_pickle("tensor {}: its offset or its strides are impossible", printable(name));
  }
  return tensor;
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

PickledState read_state_pickle(std::string_view bytes) {
  return StateReader(unpickle(bytes)).take();
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

#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "app/tools/checkpoint/files/stored_tensors.h"
#include "app/tools/checkpoint/files/tensor_writer.h"

namespace stoker {

// Tensors in memory.
class MemoryTensors final : public StoredTensors {
 public:
  MemoryTensors() : StoredTensors("tensors in memory") {}

  MemoryTensors& add(const std::string& name, const std::string& dtype,
                     const std::vector<int64_t>& shape, std::vector<uint8_t> bytes) {
    tensors_.push_back({name, dtype, shape, bytes.size()});
    bytes_.push_back(std::move(bytes));
    return *this;
  }
  template <class T>
  MemoryTensors& add(const std::string& name, const std::string& dtype,
                     const std::vector<int64_t>& shape, const std::vector<T>& values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return add(name, dtype, shape, std::move(bytes));
  }

  void read(size_t tensor, uint64_t begin, std::span<uint8_t> out) const override {
    if (!out.empty()) std::memcpy(out.data(), &bytes_[tensor][begin], out.size());
  }
  std::optional<TensorSum> sum(size_t) const override { return sum_; }
  std::string place(size_t) const override { return "memory"; }
  // What is said of every tensor from now on.
  void say(TensorSum sum) { sum_ = sum; }

 private:
  std::vector<std::vector<uint8_t>> bytes_;
  std::optional<TensorSum> sum_;
};

// All bytes of a tensor.
inline std::vector<uint8_t> all_bytes(const StoredTensors& source, size_t tensor) {
  std::vector<uint8_t> bytes;
  TensorPieces pieces(source, tensor, 7);
  for (Bytes piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

// What is to be written of a source: all of it, under its own names.
inline std::vector<WrittenTensor> whole_of(const StoredTensors& source) {
  std::vector<WrittenTensor> tensors;
  for (size_t i = 0; i < source.tensors().size(); ++i) {
    tensors.push_back({source.tensors()[i], &source, i});
  }
  return tensors;
}

// Empty: both have the same tensors, by name, bit for bit; else a name.
inline std::string first_difference(const StoredTensors& a, const StoredTensors& b) {
  if (a.tensors().size() != b.tensors().size()) return "their number";
  for (size_t i = 0; i < a.tensors().size(); ++i) {
    size_t other = 0;
    while (other < b.tensors().size() && b.tensors()[other].name != a.tensors()[i].name) ++other;
    if (other == b.tensors().size() || a.tensors()[i] != b.tensors()[other] ||
        all_bytes(a, i) != all_bytes(b, other)) {
      return a.tensors()[i].name;
    }
  }
  return {};
}

// One of each type, a scalar and an empty one among them.
inline MemoryTensors& one_of_each(MemoryTensors& tensors) {
  return tensors.add<double>("a.double", "F64", {2}, {1.5, -2})
      .add<float>("a.float", "F32", {3, 2}, {1, 2, 3, 4, 5, 6})
      .add<uint16_t>("half", "F16", {3}, {0x3c00, 0xbc00, 0x7bff})
      .add<uint16_t>("brain", "BF16", {2}, {0x3f80, 0xc000})
      .add<int64_t>("long", "I64", {}, {INT64_MIN})
      .add<int32_t>("int", "I32", {1, 1, 2}, {-1, 7})
      .add<int16_t>("short", "I16", {1}, {-300})
      .add<int8_t>("char", "I8", {5}, {-1, 0, 1, 2, 3})
      .add<uint8_t>("byte", "U8", {200}, std::vector<uint8_t>(200, 9))
      .add<uint8_t>("bool", "BOOL", {2}, {1, 0})
      .add<float>("empty", "F32", {0, 4}, std::vector<float>());
}

}  // namespace stoker

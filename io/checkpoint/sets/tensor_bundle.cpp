#include "io/checkpoint/sets/tensor_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "io/core/crc32c.h"
#include "io/core/error.h"
#include "io/core/wire/protobuf.h"
#include "io/core/wire/sorted_table.h"

namespace stoker {
namespace {

constexpr uint64_t kBundleVersion = 1;
constexpr size_t kMostTensors = 1'000'000;
constexpr size_t kLengthSumBytes = 4;

struct DataType {
  uint64_t number;
  const char* name;
};
// TensorFlow's DataType; those that safetensors has not are called as there.
constexpr DataType kTypes[] = {{1, "F32"},
                               {2, "F64"},
                               {3, "I32"},
                               {4, "U8"},
                               {5, "I16"},
                               {6, "I8"},
                               {7, "DT_STRING"},
                               {8, "DT_COMPLEX64"},
                               {9, "I64"},
                               {10, "BOOL"},
                               {14, "BF16"},
                               {17, "DT_UINT16"},
                               {18, "DT_COMPLEX128"},
                               {19, "F16"},
                               {20, "DT_RESOURCE"},
                               {21, "DT_VARIANT"},
                               {22, "DT_UINT32"},
                               {23, "DT_UINT64"}};

template <class... A>
[[noreturn]] void refuse_index(fmt::format_string<A...> what, A&&... values) {
  throw Error(ExitCode::storage, fmt::format(what, std::forward<A>(values)...));
}

std::string dtype_name(uint64_t number) {
  const auto* found = std::ranges::find(kTypes, number, &DataType::number);
  return found == std::end(kTypes) ? fmt::format("DT_{}", number) : found->name;
}

std::vector<int64_t> parse_shape(Bytes message) {
  std::vector<int64_t> shape;
  WireReader fields(message);
  while (const std::optional<WireField> dimension = fields.next()) {
    if (dimension->number != 2) continue;
    shape.push_back(0);
    WireReader parts(dimension->bytes);
    while (const std::optional<WireField> part = parts.next()) {
      if (part->number == 1) shape.back() = static_cast<int64_t>(part->value);
    }
    if (shape.back() < 0 || shape.size() > 254) refuse_index("an impossible shape");
  }
  return shape;
}

// BundleHeaderProto.
uint64_t parse_header(Bytes message) {
  uint64_t files = 0;
  WireReader fields(message);
  while (const std::optional<WireField> field = fields.next()) {
    if (field->number == 1) files = field->value;
    if (field->number == 2 && field->value != 0) refuse_index("its data are big-endian");
    if (field->number != 3) continue;
    WireReader version(field->bytes);
    while (const std::optional<WireField> part = version.next()) {
      if (part->number == 2 && part->value > kBundleVersion) {
        refuse_index("it is of version {}; this program reads {}", part->value, kBundleVersion);
      }
    }
  }
  if (files == 0 || files > kMostTensors) refuse_index("{} data files", files);
  return files;
}

// BundleEntryProto.
BundleTensor parse_entry(std::string_view name, Bytes message, uint64_t files) {
  BundleTensor tensor{std::string(name), dtype_name(0), {}};
  WireReader fields(message);
  while (const std::optional<WireField> field = fields.next()) {
    if (field->number == 1) tensor.dtype = dtype_name(field->value);
    if (field->number == 2) tensor.shape = parse_shape(field->bytes);
    if (field->number == 3) tensor.file = field->value;
    if (field->number == 4) tensor.offset = field->value;
    if (field->number == 5) tensor.bytes = field->value;
    if (field->number == 6) tensor.sum = unmasked_crc32c(static_cast<uint32_t>(field->value));
    if (field->number == 7) tensor.sliced = true;
  }
  if (tensor.file >= files) refuse_index("tensor {}: data file {} of {}", name, tensor.file, files);
  if (!tensor.sliced && dtype_bytes(tensor.dtype) > 0 &&
      tensor_bytes(tensor.dtype, tensor.shape) != tensor.bytes) {
    refuse_index("tensor {}: {} bytes do not agree with its type and shape", name, tensor.bytes);
  }
  return tensor;
}

}  // namespace

std::string shape_proto(const std::vector<int64_t>& shape) {
  std::string message;
  for (const int64_t size : shape) {
    message += wire_bytes(2, wire_number(1, WireType::varint, static_cast<uint64_t>(size)));
  }
  return message;
}

uint64_t bundle_dtype(const std::string& dtype) {
  const auto* found = std::ranges::find(kTypes, dtype, &DataType::name);
  return found == std::end(kTypes) ? 0 : found->number;
}

std::string bundle_data_name(const std::string& prefix, uint64_t file, uint64_t files) {
  return fmt::format("{}.data-{:05}-of-{:05}", prefix, file, files);
}

std::string bundle_index(const SetLayout& layout, const std::vector<uint32_t>& sums) {
  std::map<std::string_view, const TensorPiece*> by_name;
  for (const TensorPiece& piece : layout.files.at(0).pieces) {
    by_name[layout.tensors[piece.tensor].name] = &piece;
  }
  SortedTableWriter table;
  table.add("", wire_number(1, WireType::varint, 1) +
                    wire_bytes(3, wire_number(1, WireType::varint, kBundleVersion)));
  for (const auto& [name, piece] : by_name) {
    const TensorInfo& tensor = layout.tensors[piece->tensor];
    table.add(name, wire_number(1, WireType::varint, bundle_dtype(tensor.dtype)) +
                        wire_bytes(2, shape_proto(tensor.shape)) +
                        wire_number(4, WireType::varint, piece->offset) +
                        wire_number(5, WireType::varint, piece->bytes) +
                        wire_number(6, WireType::fixed32, masked_crc32c(sums.at(piece->tensor))));
  }
  return table.finish();
}

TensorBundle parse_bundle_index(Bytes index) {
  TensorBundle bundle{0, {}};
  try {
    read_sorted_table(index, [&](std::string_view key, Bytes value) {
      if (key.empty()) {
        bundle.files = parse_header(value);
        return;
      }
      if (bundle.files == 0) refuse_index("it has no header");
      if (bundle.tensors.size() == kMostTensors) refuse_index("more than {} tensors", kMostTensors);
      bundle.tensors.push_back(parse_entry(key, value, bundle.files));
    });
  } catch (const BadSample& error) {
    refuse_index("{}", error.what());
  }
  if (bundle.files == 0) refuse_index("it has no header");
  return bundle;
}

uint32_t text_sum(Bytes bytes, uint64_t count) {
  try {
    WireReader rest(bytes);
    uint32_t sum = 0;
    uint64_t all = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const std::optional<uint64_t> length = rest.next_varint();
      if (!length || *length > bytes.size()) refuse_index("the lengths of its texts do not fit");
      all += *length;
      uint8_t number[8];
      for (int k = 0; k < 8; ++k) number[k] = static_cast<uint8_t>(*length >> (8 * k));
      sum = crc32c(Bytes(number, *length > UINT32_MAX ? 8 : 4), sum);
    }
    sum = crc32c(rest.take(kLengthSumBytes), sum);
    return crc32c(rest.take(all), sum);
  } catch (const BadSample& error) {
    refuse_index("{}", error.what());
  }
}

}  // namespace stoker

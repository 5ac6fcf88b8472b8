#include "io/dataset/formats/parquet/row_values.h"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <string_view>

namespace stoker {
namespace {

using arrow::Type;

bool is_list(const arrow::DataType& type) {
  return type.id() == Type::LIST || type.id() == Type::LARGE_LIST ||
         type.id() == Type::FIXED_SIZE_LIST;
}

bool is_number(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id());
}

// Elements of an array: all that a row is.
struct Elements {
  const arrow::Array* of;
  int64_t begin;
  int64_t end;
};

template <class List>
Elements below(const Elements& lists) {
  const auto& array = static_cast<const List&>(*lists.of);
  return {array.values().get(), array.value_offset(lists.begin), array.value_offset(lists.end)};
}

// The elements of the lists.
Elements elements_of(const Elements& lists) {
  switch (lists.of->type_id()) {
    case Type::LIST:
      return below<arrow::ListArray>(lists);
    case Type::LARGE_LIST:
      return below<arrow::LargeListArray>(lists);
    default:
      return below<arrow::FixedSizeListArray>(lists);
  }
}

bool any_null(const Elements& elements) {
  if (elements.of->null_count() == 0) return false;
  for (int64_t i = elements.begin; i < elements.end; ++i) {
    if (elements.of->IsNull(i)) return true;
  }
  return false;
}

template <class Binary>
Bytes view_of(const arrow::Array& array, int64_t row) {
  const std::string_view view = static_cast<const Binary&>(array).GetView(row);
  return {reinterpret_cast<const uint8_t*>(view.data()), view.size()};
}

// A row that is no list; it is not null.
Bytes plain_row(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case Type::BINARY:
    case Type::STRING:
      return view_of<arrow::BinaryArray>(array, row);
    case Type::LARGE_BINARY:
    case Type::LARGE_STRING:
      return view_of<arrow::LargeBinaryArray>(array, row);
    case Type::BINARY_VIEW:
    case Type::STRING_VIEW:
      return view_of<arrow::BinaryViewArray>(array, row);
    default:
      return view_of<arrow::FixedSizeBinaryArray>(array, row);
  }
}

// The bytes of a row, or why it has none.
Bytes row_bytes(const arrow::Array& array, int64_t row, const char*& flaw) {
  Elements elements{&array, row, row + 1};
  if (array.IsNull(row)) {
    flaw = "it is null";
    return {};
  }
  if (!is_list(*array.type())) return plain_row(array, row);
  while (is_list(*elements.of->type())) {
    elements = elements_of(elements);
    if (any_null(elements)) {
      flaw = "there is a null in its list";
      return {};
    }
  }
  if (elements.begin == elements.end) return {};
  const auto& numbers = static_cast<const arrow::PrimitiveArray&>(*elements.of);
  const auto width = static_cast<int64_t>(numbers.type()->byte_width());
  return {numbers.values()->data() + (numbers.offset() + elements.begin) * width,
          static_cast<size_t>((elements.end - elements.begin) * width)};
}

// Structs of one field are taken off: a null among them is one of the field's.
std::shared_ptr<arrow::Array> without_structs(std::shared_ptr<arrow::Array> array) {
  while (array->type_id() == Type::STRUCT) {
    array = value_of(static_cast<const arrow::StructArray&>(*array).GetFlattenedField(0));
  }
  return array;
}

// The pieces one behind the other: where they lie, if they do so.
void join(const std::vector<Bytes>& pieces, std::shared_ptr<const void> owner, RowValues& out) {
  size_t size = 0;
  bool adjacent = true;
  for (const Bytes& piece : pieces) {
    adjacent = adjacent && piece.data() == pieces.front().data() + size;
    size += piece.size();
  }
  if (pieces.empty()) return;
  if (adjacent) {
    out.bytes = {pieces.front().data(), size};
    out.owner = std::move(owner);
    return;
  }
  const auto copy = std::make_shared<Buffer>();
  uint8_t* to = copy->resize(size);
  for (const Bytes& piece : pieces) to = std::ranges::copy(piece, to).out;
  out.bytes = copy->bytes();
  out.owner = copy;
}

template <class Numbers>
void append(const arrow::Array& array, std::vector<std::optional<int64_t>>& out) {
  const auto& numbers = static_cast<const Numbers&>(array);
  for (int64_t i = 0; i < numbers.length(); ++i) {
    if (numbers.IsNull(i)) {
      out.emplace_back();
    } else {
      out.emplace_back(static_cast<int64_t>(numbers.Value(i)));
    }
  }
}

void append_numbers(const arrow::Array& array, std::vector<std::optional<int64_t>>& out) {
  switch (array.type_id()) {
    case Type::BOOL:
      return append<arrow::BooleanArray>(array, out);
    case Type::INT8:
      return append<arrow::Int8Array>(array, out);
    case Type::UINT8:
      return append<arrow::UInt8Array>(array, out);
    case Type::INT16:
      return append<arrow::Int16Array>(array, out);
    case Type::UINT16:
      return append<arrow::UInt16Array>(array, out);
    case Type::INT32:
      return append<arrow::Int32Array>(array, out);
    case Type::UINT32:
      return append<arrow::UInt32Array>(array, out);
    case Type::INT64:
      return append<arrow::Int64Array>(array, out);
    default:
      return append<arrow::UInt64Array>(array, out);
  }
}

}  // namespace

RowValues row_values(const std::shared_ptr<arrow::ChunkedArray>& column) {
  RowValues values;
  std::vector<Bytes> pieces;
  arrow::ArrayVector arrays;  // what the pieces lie in
  for (const std::shared_ptr<arrow::Array>& chunk : column->chunks()) {
    const std::shared_ptr<arrow::Array> array = without_structs(chunk);
    arrays.push_back(array);
    for (int64_t row = 0; row < array->length(); ++row) {
      RowValue& value = values.rows.emplace_back();
      const Bytes bytes = row_bytes(*array, row, value.flaw);
      value.bytes = bytes.size();
      if (!bytes.empty()) pieces.push_back(bytes);
    }
  }
  join(pieces, std::make_shared<arrow::ArrayVector>(std::move(arrays)), values);
  return values;
}

bool has_bytes(const arrow::DataType& type) {
  if (is_list(type)) {
    const arrow::DataType& element = *type.field(0)->type();
    return is_number(element) || (is_list(element) && has_bytes(element));
  }
  return arrow::is_base_binary_like(type.id()) || arrow::is_binary_view_like(type.id()) ||
         type.id() == Type::FIXED_SIZE_BINARY;
}

uint64_t numbers_of_each(const arrow::DataType& type) {
  if (type.id() == Type::FIXED_SIZE_BINARY || is_number(type)) return 1;
  if (type.id() != Type::FIXED_SIZE_LIST) return 0;
  const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
  return static_cast<uint64_t>(list.list_size()) * numbers_of_each(*list.value_type());
}

uint64_t bytes_of_each(const arrow::DataType& type) {
  const arrow::DataType* element = &type;
  while (is_list(*element)) element = element->field(0)->type().get();
  const uint64_t numbers = numbers_of_each(type);
  return numbers == 0 ? 0 : numbers * static_cast<uint64_t>(element->byte_width());
}

std::vector<std::optional<int64_t>> row_numbers(const arrow::ChunkedArray& column) {
  std::vector<std::optional<int64_t>> numbers;
  for (const std::shared_ptr<arrow::Array>& chunk : column.chunks()) {
    append_numbers(*without_structs(chunk), numbers);
  }
  return numbers;
}

bool is_whole(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || type.id() == Type::BOOL;
}

}  // namespace stoker

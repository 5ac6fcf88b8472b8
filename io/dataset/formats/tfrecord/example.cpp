#include "io/dataset/formats/tfrecord/example.h"

#include <algorithm>
#include <optional>

#include "io/core/text/text.h"
#include "io/core/wire/protobuf.h"

namespace stoker {
namespace {

// tensorflow/core/example/example.proto and feature.proto:
//   Example  { Features features = 1; }
//   Features { map<string, Feature> feature = 1; }       an entry { key = 1; value = 2; }
//   Feature  { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2;
//                           Int64List int64_list = 3; } }
//   each list { repeated value = 1; }
using Kind = ExampleFeature::Kind;

constexpr size_t kMostNames = 100;

// The next field of that number that holds bytes; others are passed over.
std::optional<Bytes> next_bytes(WireReader& message, uint32_t number) {
  while (const auto field = message.next()) {
    if (field->number == number && field->type == WireType::bytes) return field->bytes;
  }
  return std::nullopt;
}

void add_integer(ExampleFeature& feature, uint64_t value) {
  if (feature.count++ == 0) feature.integer = static_cast<int64_t>(value);
}

void add_values(ExampleFeature& feature, Bytes list) {
  WireReader values(list);
  while (const auto value = values.next()) {
    if (value->number != 1) continue;
    if (feature.kind == Kind::bytes && value->type == WireType::bytes) {
      if (feature.count++ == 0) feature.bytes = value->bytes;
    } else if (feature.kind == Kind::integers && value->type == WireType::varint) {
      add_integer(feature, value->value);
    } else if (feature.kind == Kind::integers && value->type == WireType::bytes) {
      WireReader packed(value->bytes);
      while (const auto one = packed.next_varint()) add_integer(feature, *one);
    }
  }
}

void merge(ExampleFeature& feature, Bytes message) {
  WireReader kinds(message);
  while (const auto list = kinds.next()) {
    if (list->type != WireType::bytes || list->number < 1 || list->number > 3) continue;
    const auto kind = static_cast<Kind>(list->number);
    if (feature.kind != kind) feature = {kind};
    add_values(feature, list->bytes);
  }
}

std::string_view key_of(Bytes entry) {
  std::string_view key;
  WireReader fields(entry);
  while (const auto bytes = next_bytes(fields, 1)) {
    key = {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }
  return key;
}

// Calls back with each entry of the map.
template <class F>
void for_each_entry(Bytes message, const F& call) {
  WireReader example(message);
  while (const auto map = next_bytes(example, 1)) {
    WireReader entries(*map);
    while (const auto one = next_bytes(entries, 1)) call(*one);
  }
}

void read_entry(Bytes entry, std::span<const std::string> names,
                std::vector<ExampleFeature>& features) {
  const std::string_view key = key_of(entry);
  const auto name = std::ranges::find(names, key);
  if (key.empty() || name == names.end()) return;
  ExampleFeature feature;
  WireReader again(entry);
  while (const auto value = next_bytes(again, 2)) merge(feature, *value);
  features[static_cast<size_t>(name - names.begin())] = feature;
}

std::string entry(std::string_view name, const std::string& list) {
  return wire_bytes(1, wire_bytes(1, name) + wire_bytes(2, list));
}

// A feature that is a list of one text.
std::string text_entry(std::string_view name, std::string_view text) {
  return entry(name, wire_bytes(1, wire_bytes(1, text)));
}

}  // namespace

std::vector<ExampleFeature> read_example(Bytes message, std::span<const std::string> names) {
  std::vector<ExampleFeature> features(names.size());
  for_each_entry(message, [&](Bytes entry) { read_entry(entry, names, features); });
  return features;
}

std::vector<std::string> feature_names(Bytes message) {
  std::vector<std::string> names;
  for_each_entry(message, [&](Bytes entry) {
    if (names.size() < kMostNames) names.push_back(to_text(key_of(entry)));
  });
  return names;
}

std::string image_example(const ImageExample& about, uint64_t image_bytes) {
  const auto label = static_cast<uint64_t>(about.label);
  const std::string features =
      entry("image/class/label",
            wire_bytes(3, wire_bytes(1, wire_number(1, WireType::varint, label).substr(1)))) +
      text_entry("image/class/text", about.class_name) +
      text_entry("image/filename", about.filename);
  // From the inside to the outside: what stands before the image, each with the length of what
  // follows.
  std::string front = wire_bytes_head(1, image_bytes);                        // the list's value
  front = wire_bytes_head(1, front.size() + image_bytes) + front;             // bytes_list
  front = wire_bytes_head(2, front.size() + image_bytes) + front;             // the entry's value
  front = wire_bytes(1, "image/encoded") + front;                             // and its key
  front = features + wire_bytes_head(1, front.size() + image_bytes) + front;  // the map
  return wire_bytes_head(1, front.size() + image_bytes) + front;
}

}  // namespace stoker

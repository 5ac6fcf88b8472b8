#include "io/dataset/formats/tfrecord/example.h"

#include <gtest/gtest.h>

#include "tests/dataset/formats/tfrecord/records.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;

Bytes view(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// What feature "f" says: "bytes x (1)", "integers -5 (2)", "floats", "none".
std::string said(const std::string& message) {
  const Strings names{"f"};
  // Of exactly this size, so that a sanitizer sees every read behind the end.
  const std::vector<uint8_t> bytes(message.begin(), message.end());
  const ExampleFeature found = read_example(bytes, names).at(0);
  const std::string count = " (" + std::to_string(found.count) + ")";
  switch (found.kind) {
    case ExampleFeature::Kind::bytes:
      return "bytes " + std::string(found.bytes.begin(), found.bytes.end()) + count;
    case ExampleFeature::Kind::integers:
      return "integers " + std::to_string(found.integer) + count;
    case ExampleFeature::Kind::floats:
      return "floats";
    case ExampleFeature::Kind::none:
      break;
  }
  return "none";
}

std::string said_of(const std::string& value) { return said(example(feature("f", value))); }

TEST(Example, features_of_every_kind_are_read) {
  EXPECT_EQ(said_of(bytes_list({"x"})), "bytes x (1)");
  EXPECT_EQ(said_of(bytes_list({"x", "y"})), "bytes x (2)");
  EXPECT_EQ(said_of(bytes_list({})), "bytes  (0)");
  EXPECT_EQ(said_of(int64_list({7, 8, 9})), "integers 7 (3)");
  EXPECT_EQ(said_of(wire_bytes(2, wire_bytes(1, "\1\2\3\4"))), "floats");
  EXPECT_EQ(said_of(""), "none");
  EXPECT_EQ(said(example(feature("g", bytes_list({"x"})))), "none");
  EXPECT_EQ(said(""), "none");
}

TEST(Example, numbers_may_be_packed_or_not_and_negative) {
  const auto one = [](int64_t value) {
    return wire_number(1, WireType::varint, static_cast<uint64_t>(value));
  };
  EXPECT_EQ(one(-5).size(), 11u);
  EXPECT_EQ(said_of(int64_list({-5})), "integers -5 (1)");
  EXPECT_EQ(said_of(wire_bytes(3, one(-5) + one(6))), "integers -5 (2)");
  EXPECT_EQ(said_of(wire_bytes(3, one(INT64_MIN) + wire_bytes(1, "\1\2"))),
            "integers -9223372036854775808 (3)");
}

TEST(Example, what_is_given_twice_is_merged_and_of_a_key_the_last_counts) {
  const std::string f = feature("f", bytes_list({"x"})), g = feature("g", bytes_list({"g"}));
  EXPECT_EQ(said(example(f) + example(g)), "bytes x (1)");
  EXPECT_EQ(said(example(g) + example(f)), "bytes x (1)");
  EXPECT_EQ(said(example(f + feature("f", int64_list({1})))), "integers 1 (1)");
  EXPECT_EQ(said(example(f) + example(feature("f", ""))), "none");
  EXPECT_EQ(said_of(bytes_list({"x"}) + bytes_list({"y"})), "bytes x (2)");
  EXPECT_EQ(said_of(bytes_list({"x"}) + int64_list({3})), "integers 3 (1)");
  const std::string twice = wire_bytes(1, "g") + wire_bytes(2, bytes_list({"x"})) +
                            wire_bytes(2, bytes_list({"y"})) + wire_bytes(1, "f");
  EXPECT_EQ(said(example(wire_bytes(1, twice))), "bytes x (2)");
}

TEST(Example, unknown_fields_are_passed_over) {
  const std::string group = "\x1b\x08\x01\x23\x24\x1c";  // 3 { 1: 1, 4 {} }
  const std::string unknown = wire_number(1, WireType::fixed64, 9) + wire_bytes(9, "nine") +
                              wire_number(2, WireType::fixed32, 9) + group;
  const std::string list = unknown + wire_bytes(1, "x") + unknown;
  const std::string value = unknown + wire_bytes(1, list) + unknown;
  const std::string entry = unknown + wire_bytes(2, value) + wire_bytes(1, "f") + unknown;
  EXPECT_EQ(said(unknown + example(unknown + wire_bytes(1, entry)) + unknown), "bytes x (1)");
}

TEST(Example, what_is_no_message_is_damage) {
  const auto damage = [](const std::string& message) { return error_of([&] { said(message); }); };
  const std::string none = "it is no protocol buffer: ";
  EXPECT_EQ(damage("\x0a\x05xx"), none + "it ends too early");
  EXPECT_EQ(damage("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), none + "it ends too early");
  EXPECT_EQ(damage("\x0a"), none + "it ends too early");
  EXPECT_EQ(damage("\x08" + std::string(10, '\xff') + "\x01"),
            none + "a number of more than 10 bytes");
  EXPECT_EQ(damage(std::string(1, '\0')), none + "a field of no number");
  EXPECT_EQ(damage(std::string("\xff\xff\xff\xff\x7f")), none + "a field of no number");
  EXPECT_EQ(damage("\x0f"), none + "a field of an unknown form");
  EXPECT_EQ(damage("\x1b\x08\x01"), none + "a group without an end");
  EXPECT_EQ(damage("\x1b\x24"), none + "the end of no group");
  EXPECT_EQ(damage("\x1c"), none + "the end of no group");
  EXPECT_EQ(damage(std::string(1000, '\x1b')), none + "groups too deep");
  EXPECT_EQ(damage(example(feature("f", "\x0a\x09x"))), none + "it ends too early");
}

TEST(Example, of_an_image_is_read_as_it_was_written) {
  const std::string image(300, 'i');
  const std::string message = image_example({"owl/1.jpg", "owl", 300}, image.size()) + image;
  const Strings names{"image/encoded", "image/class/label", "image/class/text", "image/filename"};
  const std::vector<ExampleFeature> found = read_example(view(message), names);
  const auto text = [&](size_t i) {
    return std::string(found[i].bytes.begin(), found[i].bytes.end());
  };
  EXPECT_EQ(text(0), image);
  EXPECT_EQ(found[1].integer, 300);
  EXPECT_EQ(text(2), "owl");
  EXPECT_EQ(text(3), "owl/1.jpg");
}

}  // namespace
}  // namespace stoker

#include "io/checkpoint/sets/manifest.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstdio>
#include <functional>

#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/short_tests.h"

namespace stoker {
namespace {

using nlohmann::json;

std::string sha256(const std::string& text) {
  unsigned char digest[32];
  EXPECT_EQ(EVP_Digest(text.data(), text.size(), digest, nullptr, EVP_sha256(), nullptr), 1);
  std::string hex;
  for (const unsigned char byte : digest) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  return hex;
}

// What anybody can do: a body of any content with a right checksum.
std::string sign(const std::string& body) {
  return body + "  \"sha256\": \"" + sha256(body) + "\"\n}\n";
}

std::string sign(json manifest) {
  manifest.erase("sha256");
  std::string body = manifest.dump(1);
  body.resize(body.size() - 2);
  return sign(body + ",\n");
}

Manifest sample(FileLayout format = FileLayout::safetensors, int64_t shards = 1) {
  Manifest manifest;
  manifest.step = 20;
  manifest.created = "2026-11-21T13:40:00.123Z";
  manifest.writer = "0123456789abcdef";
  manifest.durability = "fsync";
  manifest.layout =
      make_layout(format, {{"weight", "F32", {6, 2}, 48}, {"mask", "BOOL", {3}, 3}}, shards);
  manifest.tensor_sums = {0xdeadbeef, 0x00000001};
  for (const DataFile& file : manifest.layout.files)
    manifest.files.push_back({file.name, file.bytes, {0x1a2b3c4d}});
  if (format == FileLayout::tf_saver) manifest.files.push_back({"model.ckpt.index", 10, {7}});
  manifest.training = {{"epoch", 3}, {"loss", 0.1}, {"rng", {1, 2, 3}}};
  return manifest;
}

// The manifest as JSON after a change, signed again.
std::string changed(const std::function<void(json&)>& change, const Manifest& from = sample()) {
  json manifest = json::parse(manifest_text(from));
  change(manifest);
  return sign(manifest);
}

std::string refused(const std::string& text) {
  try {
    parse_manifest(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::storage);
    return error.what();
  }
  return "accepted";
}

std::string refused(const std::function<void(json&)>& change) { return refused(changed(change)); }

void expect_round_trip(const Manifest& manifest) {
  const std::string text = manifest_text(manifest);
  const Manifest read = parse_manifest(text);
  EXPECT_EQ(manifest_text(read), text);
  EXPECT_EQ(read.step, manifest.step);
  EXPECT_EQ(read.created, manifest.created);
  EXPECT_EQ(read.writer, manifest.writer);
  EXPECT_EQ(read.durability, manifest.durability);
  EXPECT_EQ(read.layout.format, manifest.layout.format);
  EXPECT_EQ(read.layout.tensors, manifest.layout.tensors);
  EXPECT_EQ(read.tensor_sums, manifest.tensor_sums);
  EXPECT_EQ(read.files, manifest.files);
  EXPECT_EQ(read.training, manifest.training);
  ASSERT_EQ(read.layout.files.size(), manifest.layout.files.size());
  for (size_t i = 0; i < read.layout.files.size(); ++i) {
    const DataFile &got = read.layout.files[i], &wanted = manifest.layout.files[i];
    EXPECT_EQ(got.name, wanted.name);
    EXPECT_EQ(got.bytes, wanted.bytes);
    ASSERT_EQ(got.pieces.size(), wanted.pieces.size());
    for (size_t k = 0; k < got.pieces.size(); ++k) {
      EXPECT_EQ(got.pieces[k].tensor, wanted.pieces[k].tensor);
      EXPECT_EQ(got.pieces[k].begin, wanted.pieces[k].begin);
      EXPECT_EQ(got.pieces[k].bytes, wanted.pieces[k].bytes);
      EXPECT_EQ(got.pieces[k].offset, wanted.pieces[k].offset);
    }
  }
}

TEST(Manifest, a_text_is_read_as_it_was_written) {
  expect_round_trip(sample());
  expect_round_trip(sample(FileLayout::safetensors, 3));
  expect_round_trip(sample(FileLayout::safetensors, 9));  // some without tensors
  expect_round_trip(sample(FileLayout::tf_saver));
}

TEST(Manifest, the_last_member_is_the_checksum_of_the_lines_before_it) {
  const std::string text = manifest_text(sample());
  const size_t line = text.rfind("\n", text.size() - 4) + 1;
  EXPECT_EQ(text.substr(line), "  \"sha256\": \"" + sha256(text.substr(0, line)) + "\"\n}\n");
  EXPECT_EQ(json::parse(text).at("sha256"), sha256(text.substr(0, line)));
}

TEST(Manifest, the_text_is_readable) {
  const json manifest = json::parse(manifest_text(sample()));
  EXPECT_EQ(manifest.at("format"), "stoker-checkpoint");
  EXPECT_EQ(manifest.at("version"), 1);
  EXPECT_EQ(manifest.at("layout"), "safetensors");
  EXPECT_EQ(manifest.at("files").at(0), (json{{"name", "state.safetensors"},
                                              {"bytes", 4147},
                                              {"header_bytes", 4096},
                                              {"chunk_bytes", 8388608},
                                              {"crc32c", {"1a2b3c4d"}}}));
  EXPECT_EQ(
      manifest.at("tensors").at(1),
      (json{{"name", "mask"},
            {"dtype", "BOOL"},
            {"shape", {3}},
            {"bytes", 3},
            {"crc32c", "00000001"},
            {"pieces",
             {{{"file", "state.safetensors"}, {"begin", 0}, {"bytes", 3}, {"offset", 4144}}}}}));
}

TEST(Manifest, every_flipped_bit_is_detected) {
  const std::string intact = manifest_text(sample());
  std::string text = intact;
  for (size_t bit = 0; bit < 8 * text.size(); bit += stride(7)) {
    text[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    ASSERT_EQ(refused(text).substr(0, 8), "damaged:") << bit;
    text[bit / 8] = intact[bit / 8];
  }
  EXPECT_EQ(refused(text), "accepted");
}

TEST(Manifest, every_truncation_is_detected) {
  const std::string text = manifest_text(sample());
  for (size_t length = 0; length < text.size(); length += stride(5))
    ASSERT_EQ(refused(text.substr(0, length)).substr(0, 8), "damaged:") << length;
}

TEST(Manifest, every_removed_or_doubled_byte_is_detected) {
  const std::string text = manifest_text(sample());
  for (size_t at = 0; at < text.size(); at += stride(5)) {
    ASSERT_EQ(refused(std::string(text).erase(at, 1)).substr(0, 8), "damaged:") << at;
    ASSERT_EQ(refused(std::string(text).insert(at, 1, text[at])).substr(0, 8), "damaged:") << at;
  }
}

TEST(Manifest, what_follows_the_end_is_detected) {
  EXPECT_EQ(refused(manifest_text(sample()) + "\n").substr(0, 8), "damaged:");
}

TEST(Manifest, a_wrong_checksum_says_so) {
  std::string text = manifest_text(sample());
  text[5] ^= 1;
  EXPECT_EQ(refused(text), "damaged: its SHA-256 does not agree with its " +
                               std::to_string(text.size()) + " bytes");
  EXPECT_EQ(refused(""), "damaged: cut short at 0 bytes");
}

TEST(Manifest, what_is_no_json_is_refused) {
  EXPECT_EQ(refused(sign(std::string(""))).substr(0, 8), "no JSON:");
  EXPECT_EQ(refused(sign(std::string("{\"a\": \xff,\n"))).substr(0, 8), "no JSON:");
  EXPECT_EQ(refused(sign(std::string("{\"a\": 1e999,\n"))).substr(0, 8), "no JSON:");
  EXPECT_EQ(refused(sign(std::string("[1,\n"))).substr(0, 8), "no JSON:");
}

TEST(Manifest, deep_nesting_is_refused_before_it_costs_anything) {
  const std::string deep(1 << 20, '[');
  EXPECT_EQ(refused(sign("{\"training\": " + deep + ",\n")), "nested more than 64 deep");
}

TEST(Manifest, more_values_than_a_checkpoint_has_are_refused) {
  std::string many;
  for (int i = 0; i < 2'000'001; ++i) many += "0,";
  EXPECT_EQ(refused(sign("{\"training\": [" + many + "0],\n")), "more than 2000000 values");
}

TEST(Manifest, a_text_beyond_all_measure_is_refused) {
  EXPECT_EQ(refused(std::string(kMaxManifestBytes + 1, ' ')),
            "268435457 bytes; at most 268435456 are expected");
}

TEST(Manifest, every_member_is_needed) {
  const json whole = json::parse(manifest_text(sample()));
  const auto expect_needed = [](const std::string& place, const std::string& name) {
    const json::json_pointer member(place + "/" + name);
    const std::string message = refused([&](json& m) { m[json::json_pointer(place)].erase(name); });
    EXPECT_NE(message.find("no member " + name), std::string::npos) << member << message;
  };
  for (const char* name : {"format", "version", "step", "created", "writer", "durability", "layout",
                           "files", "tensors", "training"})
    expect_needed("", name);
  for (const char* name : {"name", "bytes", "chunk_bytes", "crc32c"})
    expect_needed("/files/0", name);
  for (const char* name : {"name", "dtype", "shape", "bytes", "crc32c", "pieces"})
    expect_needed("/tensors/0", name);
  for (const char* name : {"file", "begin", "bytes", "offset"})
    expect_needed("/tensors/0/pieces/0", name);
}

// Puts values of every kind in place of each value: only what cannot matter is accepted, and
// nothing but an Error ever leaves.
TEST(Manifest, every_value_has_its_type) {
  const json whole = json::parse(manifest_text(sample())).flatten();
  const std::vector<json> others = {nullptr,       true,           -1,         1.5,  "x",
                                    json::array(), json::object(), UINT64_MAX, 1e300};
  for (const auto& [place, value] : whole.items()) {
    const json::json_pointer pointer(place);
    if (place.starts_with("/training") || place == "/sha256") continue;
    for (const json& other : others) {
      if (other.type() == value.type() && other.is_string()) continue;
      EXPECT_NE(refused([&, p = pointer](json& m) { m[p] = other; }), "accepted") << place << other;
    }
  }
  for (const char* place : {"/files", "/files/0", "/tensors", "/tensors/0", "/tensors/0/shape",
                            "/tensors/0/pieces", "/tensors/0/pieces/0", "/files/0/crc32c"})
    for (const json& other : {json(nullptr), json(1), json("x")})
      EXPECT_NE(refused([&](json& m) { m[json::json_pointer(place)] = other; }), "accepted")
          << place << other;
}

TEST(Manifest, a_foreign_or_newer_text_is_named) {
  EXPECT_EQ(refused([](json& m) { m["format"] = "other"; }), "format: expected stoker-checkpoint");
  EXPECT_EQ(refused([](json& m) { m["version"] = 2; }),
            "version: 2 was written by another release; this one reads 1");
  EXPECT_EQ(refused([](json& m) { m["layout"] = "zip"; }), "layout: unknown");
  EXPECT_EQ(refused([](json& m) { m["durability"] = "maybe"; }),
            "durability: expected fsync or none");
}

TEST(Manifest, numbers_are_whole_and_not_negative) {
  const std::string words = ": expected a whole number from 0 to 2^63 - 1";
  EXPECT_EQ(refused([](json& m) { m["step"] = -1; }), "step" + words);
  EXPECT_EQ(refused([](json& m) { m["step"] = uint64_t{1} << 63; }), "step" + words);
  EXPECT_EQ(refused([](json& m) { m["files"][0]["bytes"] = 4147.0; }), "files[0].bytes" + words);
  EXPECT_EQ(refused([](json& m) { m["tensors"][0]["shape"][1] = -2; }),
            "tensors[0].shape[1]" + words);
}

TEST(Manifest, file_names_stay_in_their_directory) {
  for (const std::string name : {"", ".", "..", "../x", "a/b", "/etc/passwd", ".tmp-1", "a\nb",
                                 "a b", "a\\b", "MANIFEST.json"}) {
    EXPECT_EQ(refused([&](json& m) { m["files"][0]["name"] = name; }),
              "files[0].name: no name for a file of a checkpoint")
        << name;
  }
  EXPECT_EQ(refused([&](json& m) { m["files"][0]["name"] = std::string(256, 'a'); }),
            "files[0].name: no name for a file of a checkpoint");
  EXPECT_EQ(refused([](json& m) { m["files"].push_back(m["files"][0]); }),
            "files[1].name: state.safetensors occurs twice");
}

TEST(Manifest, chunks_agree_with_the_bytes) {
  EXPECT_EQ(refused([](json& m) { m["files"][0]["crc32c"] = json::array(); }),
            "files[0].crc32c: 0 chunks for 4147 bytes");
  EXPECT_EQ(refused([](json& m) { m["files"][0]["crc32c"].push_back("00000000"); }),
            "files[0].crc32c: 2 chunks for 4147 bytes");
  EXPECT_EQ(refused([](json& m) { m["files"][0]["bytes"] = INT64_MAX; }),
            "files[0].crc32c: 1 chunks for 9223372036854775807 bytes");
  EXPECT_EQ(refused([](json& m) { m["files"][0]["chunk_bytes"] = 4096; }),
            "files[0].chunk_bytes: expected 8388608");
  for (const char* sum : {"", "1", "123456789", "0x123456", "1A2B3C4D", " 1234567", "-1234567"}) {
    EXPECT_EQ(refused([&](json& m) { m["files"][0]["crc32c"][0] = sum; }),
              "files[0].crc32c[0]: expected eight hexadecimal digits");
  }
}

TEST(Manifest, headers_lie_in_their_files) {
  EXPECT_EQ(refused([](json& m) { m["files"][0]["header_bytes"] = 4148; }),
            "files[0].header_bytes: 4148 is too much");
  EXPECT_EQ(refused([](json& m) { m["files"][0]["header_bytes"] = 4095; }),
            "tensors[0].pieces[0].offset: expected 4095");
  EXPECT_EQ(refused([](json& m) { m["files"][0].erase("header_bytes"); }),
            "tensors[0].pieces[0].file: no file with tensors");
}

TEST(Manifest, files_with_tensors_come_first) {
  const std::string text = changed([](json& m) { std::swap(m["files"][0], m["files"][1]); },
                                   sample(FileLayout::tf_saver));
  EXPECT_EQ(refused(text), "files[1].header_bytes: files with tensors come first");
}

// Who writes the index beside it looks at that file.
TEST(Manifest, a_set_of_tf_saver_has_one_file_with_tensors) {
  EXPECT_EQ(refused(changed(
                [](json& m) {
                  m["files"] = json::array();
                  m["tensors"] = json::array();
                },
                sample(FileLayout::tf_saver))),
            "files: layout tf_saver has one file with tensors, here are 0");
}

TEST(Manifest, tensors_are_what_their_shapes_say) {
  const std::string end = " bytes do not agree with dtype F32 and the shape";
  EXPECT_EQ(refused([](json& m) { m["tensors"][0]["bytes"] = 52; }), "tensors[0]: 52" + end);
  EXPECT_EQ(refused([](json& m) { m["tensors"][0]["shape"] = {6, 3}; }), "tensors[0]: 48" + end);
  EXPECT_EQ(refused([](json& m) {
              m["tensors"][0]["shape"] = {INT64_MAX, INT64_MAX};
            }),
            "tensors[0]: 48" + end);
  // 2^62 rows of 4 bytes are 0 modulo 2^64.
  EXPECT_EQ(refused([](json& m) {
              m["tensors"][0]["shape"] = {int64_t{1} << 62};
              m["tensors"][0]["bytes"] = 0;
            }),
            "tensors[0]: 0" + end);
  EXPECT_EQ(refused([](json& m) { m["tensors"][0]["dtype"] = "F31"; }),
            "tensors[0]: 48 bytes do not agree with dtype F31 and the shape");
  EXPECT_EQ(refused([](json& m) { m["tensors"][1]["name"] = "weight"; }),
            "tensors[1].name: weight occurs twice");
}

TEST(Manifest, pieces_leave_no_holes_and_do_not_overlap) {
  const auto piece = [](json& m, const char* key, int64_t by) {
    json& value = m["tensors"][0]["pieces"][0][key];
    value = value.get<int64_t>() + by;
  };
  EXPECT_EQ(refused([&](json& m) { piece(m, "offset", 4); }),
            "tensors[0].pieces[0].offset: expected 4096");
  EXPECT_EQ(refused([&](json& m) { piece(m, "offset", -4); }),
            "tensors[0].pieces[0].offset: expected 4096");
  EXPECT_EQ(refused([&](json& m) { piece(m, "begin", 4); }),
            "tensors[0].pieces[0].begin: expected 0");
  EXPECT_EQ(refused([&](json& m) { piece(m, "bytes", 4); }),
            "tensors[0].pieces[0].bytes: more than there are");
  EXPECT_EQ(refused([&](json& m) { piece(m, "bytes", -4); }),
            "tensors[0].pieces: they hold 44 of 48 bytes");
  EXPECT_EQ(refused([&](json& m) { piece(m, "bytes", -1); }),
            "tensors[0].pieces[0]: not aligned to the elements");
  EXPECT_EQ(refused([](json& m) { m["tensors"][0]["pieces"] = json::array(); }),
            "tensors[0].pieces: they hold 0 of 48 bytes");
  EXPECT_EQ(refused([](json& m) { m["tensors"].erase(1); }),
            "file state.safetensors: the tensors end at byte 4144 of 4147");
  EXPECT_EQ(refused([](json& m) { std::swap(m["tensors"][0], m["tensors"][1]); }),
            "tensors[0].pieces[0].offset: expected 4096");
}

TEST(Manifest, a_piece_over_the_end_of_its_file_is_refused) {
  EXPECT_EQ(refused([](json& m) { m["files"][0]["bytes"] = 4100; }),
            "tensors[0].pieces[0].bytes: more than there are");
}

TEST(Manifest, more_tensors_than_allowed_are_refused) {
  const auto crowd = [](json& m) {
    json none = m["tensors"][1];
    none["shape"] = {0};
    none["bytes"] = 0;
    none["pieces"] = json::array();
    for (size_t i = 2; i <= kMaxTensors; ++i) {
      none["name"] = "t" + std::to_string(i);
      m["tensors"].push_back(none);
    }
  };
  EXPECT_EQ(refused(crowd), "tensors[10000]: more than 10000 tensors");
}

TEST(Manifest, training_belongs_to_the_trainer) {
  for (const json& training : {json(nullptr), json(1), json{{"sha256", "x"}}, json("}\n")}) {
    Manifest manifest = sample();
    manifest.training = training;
    expect_round_trip(manifest);
  }
}

TEST(Manifest, what_could_not_be_read_is_not_written) {
  const auto bug = [](const std::function<void(Manifest&)>& change) {
    Manifest manifest = sample();
    change(manifest);
    const std::string message = error_of([&] { manifest_text(manifest); });
    EXPECT_EQ(message.substr(0, 21), "checkpoint manifest: ");
    return message.substr(21);
  };
  EXPECT_EQ(bug([](Manifest& m) { m.durability = "often"; }), "durability: expected fsync or none");
  EXPECT_EQ(bug([](Manifest& m) { m.files[0].chunks.clear(); }),
            "files[0].crc32c: 0 chunks for 4147 bytes");
  EXPECT_EQ(bug([](Manifest& m) { m.files[0].bytes += 1; }),
            "file state.safetensors: the tensors end at byte 4147 of 4148");
  EXPECT_NE(bug([](Manifest& m) { m.tensor_sums.clear(); }), "");
}

}  // namespace
}  // namespace stoker

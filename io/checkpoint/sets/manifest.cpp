#include "io/checkpoint/sets/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "io/checkpoint/sets/saver_graph.h"
#include "io/checkpoint/sets/tensor_bundle.h"
#include "io/core/crc32c.h"
#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/text/json.h"

// The text:
//   1. a body: JSON whose last member is not there yet;
//   2. a tail of fixed length, which is the line of that member, with the SHA-256 of the body, and
//      the closing brace.
// Both are compared byte by byte before anything is parsed, so a text that was cut, lengthened or
// changed anywhere is refused, and the parser sees only what a writer signed. A signature is no
// proof of good will, as anybody can compute one: every value is checked nevertheless.

namespace stoker {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kFormat = "stoker-checkpoint";
constexpr uint64_t kVersion = 1;
constexpr std::string_view kTailBegin = "  \"sha256\": \"";
constexpr std::string_view kTailEnd = "\"\n}\n";
constexpr size_t kHashDigits = 64;
constexpr size_t kTailBytes = kTailBegin.size() + kHashDigits + kTailEnd.size();
constexpr JsonLimits kLimits{64, 2'000'000};
constexpr uint64_t kMaxParts = 1'000'000;

template <class... A>
[[noreturn]] void fail(fmt::format_string<A...> what, A&&... values) {
  throw Error(ExitCode::storage, fmt::format(what, std::forward<A>(values)...));
}

std::string hex(uint32_t sum) { return fmt::format("{:08x}", sum); }

std::string tail_for(std::string_view body) {
  return std::string(kTailBegin) + sha256_hex(body) + std::string(kTailEnd);
}

// A value and its place, for messages.
class Value {
 public:
  Value(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

  template <class... A>
  [[noreturn]] void fail(fmt::format_string<A...> what, A&&... values) const {
    const char* after = place_.empty() ? "" : ": ";
    stoker::fail("{}{}{}", place_, after, fmt::format(what, std::forward<A>(values)...));
  }

  const Json& json() const { return json_; }
  Value operator[](const char* key) const {
    const std::optional<Value> member = find(key);
    if (!member) fail("no member {}", key);
    return *member;
  }
  std::optional<Value> find(const char* key) const {
    if (!json_.is_object()) fail("expected an object");
    const auto member = json_.find(key);
    if (member == json_.end()) return std::nullopt;
    return Value(*member, place_.empty() ? key : place_ + "." + key);
  }
  const std::string& text() const {
    if (!json_.is_string()) fail("expected a text");
    return json_.get_ref<const std::string&>();
  }
  uint64_t number() const {
    const int64_t value = find_whole_number(json_).value_or(-1);
    if (value < 0) fail("expected a whole number from 0 to 2^63 - 1");
    return static_cast<uint64_t>(value);
  }
  uint32_t sum() const {
    const std::string& digits = text();
    if (digits.size() != 8 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
      fail("expected eight hexadecimal digits");
    return static_cast<uint32_t>(std::stoul(digits, nullptr, 16));
  }
  // Calls f(Value) for each element.
  template <class F>
  void each(F&& f) const {
    if (!json_.is_array()) fail("expected an array");
    for (size_t i = 0; i < json_.size(); ++i) f(Value(json_[i], fmt::format("{}[{}]", place_, i)));
  }

 private:
  const Json& json_;
  std::string place_;
};

// Turns the members into a Manifest and checks each against all that came before.
class Reader {
 public:
  explicit Reader(const Json& json) : root_(json, "") {}

  Manifest run() {
    identify();
    root_["files"].each([&](const Value& file) { read_file(file); });
    if (result_.layout.format == FileLayout::tf_saver && result_.layout.files.size() != 1) {
      root_["files"].fail("layout tf_saver has one file with tensors, here are {}",
                          result_.layout.files.size());
    }
    root_["tensors"].each([&](const Value& tensor) { read_tensor(tensor); });
    for (size_t i = 0; i < ends_.size(); ++i) {
      const DataFile& file = result_.layout.files[i];
      if (ends_[i] != file.bytes) {
        fail("file {}: the tensors end at byte {} of {}", file.name, ends_[i], file.bytes);
      }
    }
    result_.training = root_["training"].json();
    return std::move(result_);
  }

 private:
  void identify() {
    if (root_["format"].text() != kFormat) root_["format"].fail("expected {}", kFormat);
    if (const uint64_t version = root_["version"].number(); version != kVersion) {
      root_["version"].fail("{} was written by another release; this one reads {}", version,
                            kVersion);
    }
    result_.step = static_cast<int64_t>(root_["step"].number());
    result_.created = root_["created"].text();
    result_.writer = root_["writer"].text();
    result_.durability = root_["durability"].text();
    if (result_.durability != "fsync" && result_.durability != "none")
      root_["durability"].fail("expected fsync or none");
    const Value layout = root_["layout"];
    const auto known = enum_names(FileLayout{});
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& one) { return layout.text() == one.first; });
    if (found == known.end()) layout.fail("unknown");
    result_.layout.format = found->second;
    if (const std::optional<Value> parts = root_.find("parts")) {
      const uint64_t number = parts->number();
      if (number < 1 || number > kMaxParts) parts->fail("expected 1 to {}", kMaxParts);
      result_.parts = static_cast<int64_t>(number);
    }
  }

  void read_file(const Value& entry) {
    FileSums file;
    file.name = entry["name"].text();
    check_name(entry["name"], file.name);
    file.bytes = entry["bytes"].number();
    if (entry["chunk_bytes"].number() != kChunkBytes)
      entry["chunk_bytes"].fail("expected {}", kChunkBytes);
    entry["crc32c"].each([&](const Value& sum) { file.chunks.push_back(sum.sum()); });
    if (file.chunks.size() != file.bytes / kChunkBytes + (file.bytes % kChunkBytes != 0)) {
      entry["crc32c"].fail("{} chunks for {} bytes", file.chunks.size(), file.bytes);
    }
    if (const std::optional<Value> header = entry.find("header_bytes"))
      add_data_file(*header, file);
    result_.files.push_back(std::move(file));
  }

  void check_name(const Value& place, const std::string& name) {
    const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return c > ' ' && c < 0x7f && c != '/' && c != '\\';
    });
    if (name.empty() || name.size() > 255 || name[0] == '.' || !plain || name == kManifestName)
      place.fail("no name for a file of a checkpoint");
    if (!names_.insert(name).second) place.fail("{} occurs twice", name);
  }

  void add_data_file(const Value& header, const FileSums& file) {
    if (result_.layout.files.size() != result_.files.size())
      header.fail("files with tensors come first");
    const uint64_t bytes = header.number();
    if (bytes > file.bytes || bytes > kMaxHeaderBytes) header.fail("{} is too much", bytes);
    data_files_[file.name] = ends_.size();
    ends_.push_back(bytes);
    result_.layout.files.push_back({file.name, "", {}, file.bytes});
  }

  void read_tensor(const Value& entry) {
    std::vector<TensorInfo>& tensors = result_.layout.tensors;
    if (tensors.size() == kMaxTensors) entry.fail("more than {} tensors", kMaxTensors);
    TensorInfo tensor{entry["name"].text(), entry["dtype"].text(), {}, entry["bytes"].number()};
    if (!tensor_names_.insert(tensor.name).second)
      entry["name"].fail("{} occurs twice", tensor.name);
    entry["shape"].each(
        [&](const Value& size) { tensor.shape.push_back(static_cast<int64_t>(size.number())); });
    if (tensor_bytes(tensor.dtype, tensor.shape) != tensor.bytes) {
      entry.fail("{} bytes do not agree with dtype {} and the shape", tensor.bytes, tensor.dtype);
    }
    uint64_t begin = 0;
    entry["pieces"].each([&](const Value& piece) { begin = read_piece(piece, tensor, begin); });
    if (begin != tensor.bytes) {
      entry["pieces"].fail("they hold {} of {} bytes", begin, tensor.bytes);
    }
    result_.tensor_sums.push_back(entry["crc32c"].sum());
    tensors.push_back(std::move(tensor));
  }

  // Tensors and their pieces stand in the order of the files' bytes, so that each has to begin
  // where the one before it ended. Returns the end within the tensor.
  uint64_t read_piece(const Value& entry, const TensorInfo& tensor, uint64_t begin) {
    const auto file = data_files_.find(entry["file"].text());
    if (file == data_files_.end()) entry["file"].fail("no file with tensors");
    const TensorPiece piece{result_.layout.tensors.size(), entry["begin"].number(),
                            entry["bytes"].number(), entry["offset"].number()};
    uint64_t& end = ends_[file->second];
    DataFile& data = result_.layout.files[file->second];
    if (piece.begin != begin) entry["begin"].fail("expected {}", begin);
    if (piece.offset != end) entry["offset"].fail("expected {}", end);
    if (piece.bytes > tensor.bytes - begin || piece.bytes > data.bytes - end)
      entry["bytes"].fail("more than there are");
    const uint64_t element = dtype_bytes(tensor.dtype);
    if (piece.offset % element != 0 || piece.bytes % element != 0)
      entry.fail("not aligned to the elements");
    end += piece.bytes;
    data.pieces.push_back(piece);
    return begin + piece.bytes;
  }

  Value root_;
  Manifest result_;
  std::set<std::string> names_;
  std::set<std::string> tensor_names_;
  std::map<std::string, size_t> data_files_;  // index into layout.files and ends_
  std::vector<uint64_t> ends_;                // of what is known of each data file's bytes
};

OrderedJson files_json(const Manifest& manifest) {
  OrderedJson files = OrderedJson::array();
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const FileSums& file = manifest.files[i];
    OrderedJson sums = OrderedJson::array();
    for (const uint32_t sum : file.chunks) sums.push_back(hex(sum));
    OrderedJson entry = {{"name", file.name}, {"bytes", file.bytes}};
    if (i < manifest.layout.files.size()) {
      const DataFile& data = manifest.layout.files[i];
      uint64_t header = data.bytes;
      for (const TensorPiece& piece : data.pieces) header -= piece.bytes;
      entry["header_bytes"] = header;
    }
    entry["chunk_bytes"] = kChunkBytes;
    entry["crc32c"] = std::move(sums);
    files.push_back(std::move(entry));
  }
  return files;
}

OrderedJson tensors_json(const Manifest& manifest) {
  const SetLayout& layout = manifest.layout;
  std::vector<OrderedJson> pieces(layout.tensors.size(), OrderedJson::array());
  for (const DataFile& file : layout.files)
    for (const TensorPiece& piece : file.pieces)
      pieces.at(piece.tensor)
          .push_back({{"file", file.name},
                      {"begin", piece.begin},
                      {"bytes", piece.bytes},
                      {"offset", piece.offset}});
  OrderedJson tensors = OrderedJson::array();
  for (size_t i = 0; i < layout.tensors.size(); ++i) {
    const TensorInfo& tensor = layout.tensors[i];
    tensors.push_back({{"name", tensor.name},
                       {"dtype", tensor.dtype},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes},
                       {"crc32c", hex(manifest.tensor_sums.at(i))},
                       {"pieces", std::move(pieces[i])}});
  }
  return tensors;
}

}  // namespace

void put_together(Manifest& manifest, const SetLayout& layout, const std::vector<PartSums>& parts) {
  manifest.layout = layout;
  manifest.parts = static_cast<int64_t>(parts.size());
  manifest.tensor_sums.assign(layout.tensors.size(), 0);
  Json said = Json::array();
  for (const PartSums& part : parts) {
    said.push_back(part.training);
    manifest.files.insert(manifest.files.end(), part.files.begin(), part.files.end());
    for (const auto& [tensor, sum, bytes] : part.tensors) {
      manifest.tensor_sums.at(tensor) = crc32c_combine(manifest.tensor_sums.at(tensor), sum, bytes);
    }
  }
  if (std::ranges::all_of(said, [](const Json& part) { return part.is_null(); })) return;
  manifest.training["parts"] = std::move(said);
}

std::string to_text(const PartSums& part) {
  Json files = Json::array(), tensors = Json::array();
  for (const FileSums& file : part.files) files.push_back({file.name, file.bytes, file.chunks});
  for (const auto& [tensor, sum, bytes] : part.tensors) tensors.push_back({tensor, sum, bytes});
  return json_text(Json{{"files", files}, {"tensors", tensors}, {"training", part.training}});
}

PartSums part_sums(const std::string& text) {
  try {
    PartSums part;
    const Json json = parse_json(text);
    for (const Json& file : json.at("files"))
      part.files.push_back({file.at(0), file.at(1), file.at(2)});
    for (const Json& tensor : json.at("tensors")) {
      part.tensors.push_back({tensor.at(0), tensor.at(1), tensor.at(2)});
    }
    part.training = json.at("training");
    return part;
  } catch (const Json::exception& error) {
    throw Error(ExitCode::bug, std::string("checkpoint part: ") + error.what());
  }
}

std::string manifest_text(const Manifest& manifest) {
  std::string text;
  try {
    OrderedJson json = {{"format", kFormat},         {"version", kVersion},
                        {"step", manifest.step},     {"created", manifest.created},
                        {"writer", manifest.writer}, {"durability", manifest.durability}};
    json["layout"] = Field<FileLayout>::dump(manifest.layout.format).scalar;
    if (manifest.parts > 1) json["parts"] = manifest.parts;
    json["files"] = files_json(manifest);
    json["tensors"] = tensors_json(manifest);
    json["training"] = manifest.training;
    text = json_text(json, 2);
    text.resize(text.size() - std::string_view("\n}").size());
    text += ",\n";
    text += tail_for(text);
    // What is written can be read: a contradiction shows here, not when it is needed.
    parse_manifest(text);
  } catch (const std::exception& error) {
    throw shortage(error).value_or(
        Error(ExitCode::bug, std::string("checkpoint manifest: ") + error.what()));
  }
  return text;
}

Manifest parse_manifest(const std::string& text) {
  if (text.size() > kMaxManifestBytes) {
    fail("{} bytes; at most {} are expected", text.size(), kMaxManifestBytes);
  }
  if (text.size() < kTailBytes) fail("damaged: cut short at {} bytes", text.size());
  const std::string_view all = text;
  const std::string_view body = all.substr(0, all.size() - kTailBytes);
  if (all.substr(body.size()) != tail_for(body)) {
    fail("damaged: its SHA-256 does not agree with its {} bytes", text.size());
  }
  const Json json = [&] {
    try {
      return parse_json(text, kLimits);
    } catch (const Error& error) {
      fail("{}", error.what());
    }
  }();
  return Reader(json).run();
}

std::vector<TextFile> tf_saver_texts(const Manifest& manifest) {
  if (manifest.layout.format != FileLayout::tf_saver) return {};
  return {
      {kBundlePrefix + std::string(".index"), bundle_index(manifest.layout, manifest.tensor_sums)},
      {kBundlePrefix + std::string(".meta"), meta_graph(manifest.layout)}};
}

FileSums sums_of(const std::string& name, Bytes bytes) {
  FileSums sums{name, bytes.size(), {}};
  for (uint64_t at = 0; at < bytes.size(); at += kChunkBytes) {
    sums.chunks.push_back(crc32c(bytes.subspan(at, std::min(kChunkBytes, bytes.size() - at))));
  }
  return sums;
}

}  // namespace stoker

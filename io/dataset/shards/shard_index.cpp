#include "io/dataset/shards/shard_index.h"

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/dataset/signed_index.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr const char* kIndexFormat = "stoker shard index";
constexpr int kIndexVersion = 3;

// Nothing if no index fits.
std::optional<ShardContents> kept_index(const Storage& tier, const std::string& key,
                                        uint64_t shard_bytes, const std::string& format) {
  Buffer text;
  try {
    tier.read(key, text);
    return parse_shard_index(text.bytes(), shard_bytes, format);
  } catch (const IoError& error) {
    if (error.errno_value() != ENOENT) throw;
  } catch (const Error&) {
  }
  return std::nullopt;
}

Json parts_json(const std::vector<ShardPart>& parts) {
  Json rows = Json::array();
  for (const ShardPart& part : parts) {
    rows.push_back({part.offset, part.bytes, part.unpacked, part.packing, part.begin, part.taken});
  }
  return rows;
}

uint64_t size_at(const Json& row, size_t place) {
  return static_cast<uint64_t>(whole_number(row.at(place)));
}

bool lies_in(uint64_t offset, uint64_t bytes, uint64_t all) {
  return offset <= all && bytes <= all - offset;
}

// Adds the parts of a row to its sample.
void add_parts(const Json& rows, uint64_t shard_bytes, ShardSample& sample) {
  uint64_t sum = 0;
  for (const Json& row : rows) {
    const ShardPart part{size_at(row, 0), size_at(row, 1), size_at(row, 2),
                         size_at(row, 3), size_at(row, 4), size_at(row, 5)};
    const bool fits = lies_in(part.offset, part.bytes, shard_bytes) &&
                      lies_in(part.begin, part.taken, part.unpacked) &&
                      part.taken <= sample.bytes - sum;
    if (!fits) throw Error(ExitCode::data, "contradicts itself");
    sum += part.taken;
    sample.parts.push_back(part);
  }
  if (sum != sample.bytes) throw Error(ExitCode::data, "contradicts itself");
}

// A label is a number, or true where the key names the class.
Json label_json(const ShardSample& sample) {
  if (sample.label) return *sample.label;
  return sample.named ? Json(true) : Json();
}

void read_label(const Json& label, ShardSample& sample) {
  sample.named = label.is_boolean() && label.get<bool>();
  if (!label.is_boolean() && !label.is_null()) sample.label = whole_number(label);
}

Json bad_json(const std::optional<BadSample>& bad) {
  return bad ? Json{to_string(bad->reason()), bad->what()} : Json();
}

std::optional<BadSample> read_bad(const Json& bad) {
  if (bad.is_null()) return std::nullopt;
  const auto reason = bad.at(0).get<std::string>();
  for (auto each = BadReason::missing; each <= BadReason::unsupported;
       each = static_cast<BadReason>(static_cast<int>(each) + 1)) {
    if (reason == to_string(each)) return BadSample(each, bad.at(1).get<std::string>());
  }
  throw Error(ExitCode::data, "has the unknown reason " + reason);
}

Json arrays_json(const std::vector<std::vector<StoredArray>>& arrays) {
  Json rows = Json::array();
  for (const std::vector<StoredArray>& sample : arrays) {
    Json& row = rows.emplace_back(Json::array());
    for (const StoredArray& array : sample) row.push_back({array.type, array.shape});
  }
  return rows;
}

std::vector<std::vector<StoredArray>> read_arrays(const Json& rows) {
  std::vector<std::vector<StoredArray>> arrays;
  for (const Json& row : rows) {
    std::vector<StoredArray>& sample = arrays.emplace_back();
    for (const Json& array : row) {
      StoredArray& one = sample.emplace_back(StoredArray{array.at(0).get<std::string>(), {}});
      for (const Json& size : array.at(1)) one.shape.push_back(whole_number(size));
    }
  }
  return arrays;
}

ShardSample read_sample(const Json& row, uint64_t shard_bytes) {
  ShardSample sample;
  sample.key = row.at(0);
  read_label(row.at(1), sample);
  sample.offset = size_at(row, 2);
  sample.bytes = size_at(row, 3);
  if (row.size() > 4) sample.bad = read_bad(row.at(4));
  if (row.size() > 5) add_parts(row.at(5), shard_bytes, sample);
  const bool inside = !sample.parts.empty() || lies_in(sample.offset, sample.bytes, shard_bytes);
  if (!inside && !sample.bad) throw Error(ExitCode::data, "contradicts itself");
  return sample;
}

}  // namespace

std::string class_of(const std::string& key) {
  const size_t slash = key.find('/');
  return slash == std::string::npos ? "" : key.substr(0, slash);
}

std::string shard_index_json(const ShardContents& contents, uint64_t shard_bytes,
                             const std::string& format) {
  Json rows = Json::array();
  for (const ShardSample& sample : contents.samples) {
    Json row{sample.key, label_json(sample), sample.offset, sample.bytes};
    if (sample.bad || !sample.parts.empty()) row.push_back(bad_json(sample.bad));
    if (!sample.parts.empty()) row.push_back(parts_json(sample.parts));
    rows.push_back(std::move(row));
  }
  return signed_json({{"of", format},
                      {"shard_bytes", shard_bytes},
                      {"samples", std::move(rows)},
                      {"passed_over", contents.passed_over},
                      {"instead", contents.instead},
                      {"arrays", arrays_json(contents.arrays)},
                      {"choice", contents.choice}},
                     kIndexFormat, kIndexVersion);
}

ShardContents parse_shard_index(Bytes text, uint64_t shard_bytes, const std::string& format) {
  const Json index = parse_signed_json(text, kIndexFormat, kIndexVersion);
  try {
    if (index.at("of") != format || index.at("shard_bytes") != shard_bytes) {
      throw Error(ExitCode::data, "is of another shard or format");
    }
    ShardContents contents;
    for (const Json& row : index.at("samples")) {
      contents.samples.push_back(read_sample(row, shard_bytes));
    }
    for (const Json& name : index.at("passed_over")) {
      contents.passed_over.push_back(name.get<std::string>());
    }
    contents.instead = index.at("instead");
    contents.arrays = read_arrays(index.at("arrays"));
    contents.choice = index.at("choice");
    return contents;
  } catch (const Json::exception& error) {
    throw Error(ExitCode::data, std::string("is damaged: ") + error.what());
  }
}

Bytes ShardFormat::assemble(const ShardSample& /*sample*/, const ShardRead& /*read*/,
                            Buffer& /*out*/) const {
  throw BadSample(BadReason::corrupt, "its index has parts, and its format none");
}

ShardContents shard_contents(Storage& tier, const ObjectInfo& shard, const ShardFormat& format,
                             const Notify& notify) {
  const std::string key = shard.key + std::string(kShardIndexEnd);
  const std::string name = format.name();
  if (auto kept = kept_index(tier, key, shard.bytes, name)) return std::move(*kept);
  ShardContents contents = format.scan(tier, shard);
  const std::string text = shard_index_json(contents, shard.bytes, name);
  try {
    write_object(tier, key, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  } catch (const IoError& error) {
    if (notify) notify(fmt::format("dataset: the index of {} is not kept: {}", key, error.what()));
  }
  return contents;
}

}  // namespace stoker

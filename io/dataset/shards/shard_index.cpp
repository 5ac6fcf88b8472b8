#include "io/dataset/shards/shard_index.h"

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/dataset/signed_json.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "stoker shard index";
constexpr int kVersion = 1;

// Nothing if no index fits.
std::optional<std::vector<ShardSample>> kept_index(const Storage& tier, const std::string& key,
                                                   uint64_t shard_bytes,
                                                   const std::string& format) {
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

}  // namespace

std::string shard_index_json(const std::vector<ShardSample>& samples, uint64_t shard_bytes,
                             const std::string& format) {
  Json rows = Json::array();
  for (const ShardSample& sample : samples) {
    Json row{sample.key, sample.label, sample.offset, sample.bytes};
    if (!sample.bad.empty() || !sample.parts.empty()) row.push_back(sample.bad);
    if (!sample.parts.empty()) row.push_back(parts_json(sample.parts));
    rows.push_back(std::move(row));
  }
  return signed_json({{"of", format}, {"shard_bytes", shard_bytes}, {"samples", std::move(rows)}},
                     kFormat, kVersion);
}

std::vector<ShardSample> parse_shard_index(Bytes text, uint64_t shard_bytes,
                                           const std::string& format) {
  const Json index = parse_signed_json(text, kFormat, kVersion);
  try {
    if (index.at("of") != format || index.at("shard_bytes") != shard_bytes) {
      throw Error(ExitCode::data, "is of another shard or format");
    }
    std::vector<ShardSample> samples;
    for (const Json& row : index.at("samples")) {
      ShardSample& sample = samples.emplace_back();
      sample.key = row.at(0);
      sample.label = whole_number(row.at(1));
      sample.offset = static_cast<uint64_t>(whole_number(row.at(2)));
      sample.bytes = static_cast<uint64_t>(whole_number(row.at(3)));
      if (row.size() > 4) sample.bad = row.at(4);
      if (row.size() > 5) add_parts(row.at(5), shard_bytes, sample);
      const bool inside =
          !sample.parts.empty() || lies_in(sample.offset, sample.bytes, shard_bytes);
      if (!inside && sample.bad.empty()) throw Error(ExitCode::data, "contradicts itself");
    }
    return samples;
  } catch (const Json::exception& error) {
    throw Error(ExitCode::data, std::string("is damaged: ") + error.what());
  }
}

Bytes ShardFormat::assemble(const ShardSample& /*sample*/, const ShardRead& /*read*/,
                            Buffer& /*out*/) const {
  throw BadSample(BadReason::corrupt, "its index has parts, and its format none");
}

std::vector<ShardSample> shard_samples(Storage& tier, const ObjectInfo& shard,
                                       const ShardFormat& format, const Notify& notify) {
  const std::string key = shard.key + ".index.json";
  const std::string name = format.name();
  if (auto kept = kept_index(tier, key, shard.bytes, name)) return std::move(*kept);
  std::vector<ShardSample> samples = format.scan(tier, shard);
  const std::string text = shard_index_json(samples, shard.bytes, name);
  try {
    write_object(tier, key, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  } catch (const IoError& error) {
    if (notify) notify(fmt::format("dataset: the index of {} is not kept: {}", key, error.what()));
  }
  return samples;
}

}  // namespace stoker

#include "io/dataset/shards/shard_index.h"

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "io/core/error.h"
#include "io/core/json.h"
#include "io/dataset/signed_json.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "stoker shard index";
constexpr int kVersion = 1;

// Nothing where there is none that fits.
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

}  // namespace

std::string shard_index_json(const std::vector<ShardSample>& samples, uint64_t shard_bytes,
                             const std::string& format) {
  Json rows = Json::array();
  for (const ShardSample& sample : samples) {
    Json row{sample.key, sample.label, sample.offset, sample.bytes};
    if (!sample.bad.empty()) row.push_back(sample.bad);
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
      const bool inside =
          sample.offset <= shard_bytes && sample.bytes <= shard_bytes - sample.offset;
      if (!inside && sample.bad.empty()) throw Error(ExitCode::data, "contradicts itself");
    }
    return samples;
  } catch (const Json::exception& error) {
    throw Error(ExitCode::data, std::string("is damaged: ") + error.what());
  }
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

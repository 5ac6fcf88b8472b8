#include "io/dataset/signed_index.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker {

// packed.json's keys are the fields' names.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PackedSamples, keys, labels, xxh3)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PackedIndex, height, width, channels, source, classes, shards,
                                   shard_samples, train, test)

namespace {

using Json = nlohmann::json;

constexpr const char* kPackedFormat = "stoker packed pixels";
constexpr int kPackedVersion = 2;

bool consistent(const PackedSamples& samples, size_t classes) {
  return samples.labels.size() == samples.keys.size() &&
         samples.xxh3.size() == samples.keys.size() &&
         std::ranges::all_of(samples.labels, [classes](int64_t label) {
           return label >= 0 && static_cast<size_t>(label) < classes;
         });
}

bool consistent(const PackedIndex& index) {
  constexpr int64_t kMaxSide = 65535;
  const auto side = [](int64_t pixels) { return pixels > 0 && pixels <= kMaxSide; };
  if (!side(index.height) || !side(index.width) || index.channels != 3) return false;
  if (index.train.keys.empty() || index.shard_samples.size() != index.shards.size()) return false;
  uint64_t left = index.samples();
  for (const uint64_t samples : index.shard_samples) {
    if (samples > left) return false;
    left -= samples;
  }
  return left == 0 && consistent(index.train, index.classes.size()) &&
         consistent(index.test, index.classes.size());
}

}  // namespace

uint64_t packed_checksum(Bytes pixels) { return XXH3_64bits(pixels.data(), pixels.size()); }

std::string packed_json(const PackedIndex& index) {
  return signed_json(index, kPackedFormat, kPackedVersion);
}

PackedIndex parse_packed(Bytes text, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    return Error(ExitCode::data,
                 fmt::format("dataset: {} {}: write the data set again with `stoker "
                             "dataset convert`",
                             name, why));
  };
  try {
    PackedIndex index = parse_signed_json(text, kPackedFormat, kPackedVersion);
    if (!consistent(index)) throw Error(ExitCode::data, "contradicts itself");
    return index;
  } catch (const Json::exception& error) {
    throw refuse(std::string("is no index of packed pixels or is damaged (") + error.what() + ")");
  } catch (const Error& error) {
    throw refuse(error.what());
  }
}

using Json = nlohmann::json;

namespace {

constexpr JsonLimits kLimits{8, UINT64_MAX, false};

}  // namespace

std::string signed_json(Json index, const std::string& format, int version) {
  index["format"] = format;
  index["version"] = version;
  const std::string checksum = xxh3_128(json_text(index));
  return json_text(Json{{"checksum", checksum}, {"index", std::move(index)}});
}

Json parse_signed_json(Bytes text, const std::string& format, int version) {
  const auto refuse = [](const std::string& why) { return Error(ExitCode::data, why); };
  try {
    Json json = parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, kLimits);
    Json& index = json.at("index");
    if (index.at("format") != format) throw refuse("is no index of " + format);
    if (index.at("version") != version) {
      throw refuse(
          fmt::format("is of version {}, where {} is read", json_text(index["version"]), version));
    }
    if (json.at("checksum") != xxh3_128(json_text(index))) throw refuse("is damaged (checksum)");
    return std::move(index);
  } catch (const Json::exception& error) {
    throw refuse(fmt::format("is no index of {} or is damaged ({})", format, error.what()));
  }
}

}  // namespace stoker

#include "io/dataset/signed_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker {

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

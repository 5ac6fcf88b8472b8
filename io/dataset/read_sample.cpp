#include "io/dataset/read_sample.h"

#include <fmt/format.h>

#include "io/core/system/shortage.h"

namespace stoker {

EncodedSample read_sample(const SamplePlace& place, Buffer& scratch) {
  try {
    return place.dataset.read(place.split, place.index, scratch);
  } catch (const IoError& error) {
    if (is_absent(error)) throw BadSample(BadReason::missing, error.what());
    throw tier_failure("sample " + place.info().key, error);
  }
}

Error tier_failure(const std::string& what, const IoError& error) {
  if (is_shortage(error)) return {error.code(), error.what()};
  const std::string tier = error.tier().empty() ? "its tier" : "tier '" + error.tier() + "'";
  return {ExitCode::storage,
          fmt::format("dataset: {} cannot be read, because {} fails: {}: see that the tier "
                      "answers and may be read, and start it again",
                      what, tier, error.what())};
}

std::string decode_sample(const SamplePlace& place, const EncodedSample& sample,
                          DecoderSession& session, const DecodeMode& mode, uint8_t* out) {
  try {
    session.decode(sample.bytes, mode, out);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("dataset: {}: {}", place.info().key, error.what()));
  }
  return sample.tolerated.empty() ? session.tolerated() : sample.tolerated;
}

Error bad_sample_error(const std::string& key, const std::string& reason,
                       const std::string& message) {
  // These say by themselves what can be done about them.
  const bool advised =
      reason == to_string(BadReason::not_an_image) || reason == to_string(BadReason::unsupported);
  return {
      ExitCode::data,
      fmt::format("dataset: {}: {}: {} ({}set dataset.on_error={{policy: skip}})", key, reason,
                  message, advised ? "to go on without it, " : "repair or remove the file, or ")};
}

}  // namespace stoker

#include "app/bench/decode.h"

#include <algorithm>
#include <memory>

#include "io/metrics/clock.h"

namespace stoker {
namespace {

// The options of `component` under another type.
std::unique_ptr<Decoder> same_options(const Component<Decoder>& component,
                                      const std::string& type) {
  Node node = component.dump();
  node.entries.front().value = Node::text(type);
  return Registry<Decoder>::global().parse(Section(node, "", "decoder", nullptr)).create({});
}

double round_us(DecoderSession& session, const std::vector<Bytes>& samples, uint8_t* out) {
  const TimePoint begin = Clock::now();
  for (const Bytes sample : samples) session.decode(sample, {false, 0}, out);
  return 1e6 * seconds(Clock::now() - begin) / static_cast<double>(samples.size());
}

}  // namespace

std::vector<DecodeBenchmark> bench_decode(const Experiment& experiment,
                                          const std::vector<std::string>& others, int64_t samples,
                                          int64_t rounds) {
  const Dataset& dataset = experiment.dataset();
  const int64_t all = dataset.size(Split::train);
  std::vector<Buffer> scratch(static_cast<size_t>(samples > 0 ? std::min(samples, all) : all));
  std::vector<Bytes> encoded(scratch.size());
  for (size_t i = 0; i < encoded.size(); ++i) {
    // Even steps through the set: a prefix would be a few classes only.
    const auto index = static_cast<int64_t>(i) * all / static_cast<int64_t>(encoded.size());
    encoded[i] = dataset.read(Split::train, index, scratch[i]).bytes;
  }
  const Component<Decoder>& own = experiment.options().decoder;
  std::vector<std::unique_ptr<Decoder>> decoders;
  std::vector<std::unique_ptr<DecoderSession>> sessions;
  std::vector<DecodeBenchmark> results;
  std::vector<std::string> types{own.type()};
  types.insert(types.end(), others.begin(), others.end());
  for (const std::string& type : types) {
    decoders.push_back(same_options(own, type));
    sessions.push_back(decoders.back()->open());
    results.push_back({type, {}});
  }
  std::vector<uint8_t> out(experiment.decoder().spec().bytes());
  for (const auto& session : sessions) round_us(*session, encoded, out.data());
  for (int64_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < sessions.size(); ++i) {
      results[i].us_per_image.push_back(round_us(*sessions[i], encoded, out.data()));
    }
  }
  return results;
}

}  // namespace stoker

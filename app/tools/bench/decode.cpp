#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/tools/bench/benchmarks.h"
#include "io/core/text/text.h"
#include "io/experiment/experiment_data.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

struct TimedDecoder {
  std::string type;
  std::unique_ptr<Decoder> decoder;
  std::unique_ptr<DecoderSession> session;
  std::vector<double> us_per_image;  // one per round
};

std::vector<TimedDecoder> open_decoders(const Component<Decoder>& own,
                                        const std::vector<std::string>& others) {
  std::vector<TimedDecoder> result;
  std::vector<std::string> types{own.type()};
  types.insert(types.end(), others.begin(), others.end());
  for (const std::string& type : types) {
    auto decoder = changed(own, {"type=" + type}).create({});
    auto session = decoder->open();
    result.push_back({type, std::move(decoder), std::move(session), {}});
  }
  return result;
}

// Training samples in memory.
struct EncodedSamples {
  EncodedSamples(const Dataset& dataset, int64_t samples)
      : buffers(static_cast<size_t>(samples)), bytes(buffers.size()) {
    const int64_t all = dataset.size(Split::train);
    for (size_t i = 0; i < bytes.size(); ++i) {
      // Samples are taken in even steps through the set: its beginning has a few classes only.
      const int64_t index = static_cast<int64_t>(i) * all / samples;
      bytes[i] = dataset.read(Split::train, index, buffers[i]).bytes;
    }
  }
  std::vector<Buffer> buffers;
  std::vector<Bytes> bytes;
};

double time_per_image(DecoderSession& session, const std::vector<Bytes>& samples, uint8_t* out) {
  const TimePoint begin = Clock::now();
  for (const Bytes sample : samples) session.decode(sample, {false, 0}, out);
  return 1e6 * seconds(Clock::now() - begin) / static_cast<double>(samples.size());
}

}  // namespace

Spread decode_time(const Dataset& dataset, const Decoder& decoder, int64_t samples,
                   int64_t rounds) {
  const EncodedSamples encoded(dataset, samples);
  const auto session = decoder.open();
  std::vector<uint8_t> out(decoder.spec().bytes());
  std::vector<double> us;
  for (int64_t round = -1; round < rounds; ++round) {
    const double each = time_per_image(*session, encoded.bytes, out.data());
    if (round >= 0) us.push_back(each);
  }
  return spread(std::move(us));
}

ExitCode bench_decode(const DecodeBenchArguments& arguments) {
  const DataOptions options = read_data_options(arguments.config, arguments.overrides, print_note);
  const ExperimentData data(options, print_note);
  const int64_t all = data.dataset().size(Split::train);
  const EncodedSamples samples(data.dataset(),
                               arguments.samples > 0 ? std::min(arguments.samples, all) : all);
  std::vector<TimedDecoder> decoders = open_decoders(options.decoder, arguments.versus);
  size_t most = 0;  // pixels of one sample; the decoders need not agree
  for (const TimedDecoder& one : decoders) most = std::max(most, one.decoder->spec().bytes());
  std::vector<uint8_t> out(most);
  interleave(decoders, arguments.rounds, 1, [&](TimedDecoder& one, int64_t round) {
    const double us = time_per_image(*one.session, samples.bytes, out.data());
    if (round >= 0) one.us_per_image.push_back(us);
    return true;
  });
  using Cell = ResultTable::Cell;
  ResultTable table({{"decoder", "decoder"},
                     {"us_per_image", "us per image (min max)", 1},
                     {"", "images/s and thread"},
                     {"rounds", ""},
                     {"remark", ""}});
  for (const TimedDecoder& one : decoders) {
    const Spread us = spread(one.us_per_image);
    const std::string busy = rounds_differ(us);
    table.add(
        {one.type, us, 1e6 / us.median, arguments.rounds, busy.empty() ? Cell() : Cell(busy)});
    if (!busy.empty()) table.note(busy);
  }
  return print_result(
      arguments.json, table.json(),
      fmt::format("{}  medians of {}, the same {} in memory\n", table.text(),
                  plural(arguments.rounds, "round"), plural(samples.bytes.size(), "file")));
}

}  // namespace stoker

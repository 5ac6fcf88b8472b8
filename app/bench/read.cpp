#include "app/bench/read.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>

#include "app/bench/rounds.h"
#include "io/core/error.h"
#include "io/core/parallel.h"
#include "io/core/random.h"
#include "io/decoder/jpeg/baseline_decoder.h"
#include "io/decoder/jpeg_codec.h"
#include "io/decoder/options.h"
#include "io/loader/sampler.h"
#include "io/metrics/clock.h"
#include "io/metrics/verdict.h"
#include "io/storage/page_cache.h"

namespace stoker {
namespace {

// What one thread does to one sample. Keeps its memory from repetition to repetition.
class SampleReader {
 public:
  SampleReader(const Dataset& dataset, const Decoder& decoder, const ReadBenchOptions& options)
      : dataset_(dataset), options_(options) {
    if (!options.libjpeg) fast_ = BaselineDecoder::create();
    if (options.stages != ReadStages::resize) return;
    session_ = decoder.open();
    pixels_.resize(decoder.spec().bytes());
  }

  void take(int64_t epoch, int64_t index, ReadRepetition& total) {
    try {
      read(epoch, index);
      ++total.images;
      total.bytes += encoded_.size();
    } catch (const BadSample& bad) {
      reject(index, bad, total);
    }
  }

 private:
  void read(int64_t epoch, int64_t index) {
    try {
      encoded_ = dataset_.read(Split::train, index, scratch_).bytes;
    } catch (const IoError& error) {
      const bool missing = error.errno_value() == ENOENT;
      throw BadSample(missing ? BadReason::missing : BadReason::io, error.what());
    }
    if (options_.stages == ReadStages::decode) decode();
    if (options_.stages == ReadStages::resize) {
      const uint64_t seed =
          mix(options_.seed, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index));
      session_->decode(encoded_, {true, seed}, pixels_.data());
    }
  }

  void decode() {
    const JpegHeader header = read_jpeg_header(encoded_, &segments_);
    check_decodable(header);
    limits_.check_size(header.width, header.height);
    if (fast_) {
      const Rect whole{0, 0, header.width, header.height};
      PixelRows* rows = fast_->decode(encoded_, header, segments_, whole);
      for (int64_t y = 0; rows != nullptr && y < header.height; ++y) rows->row(y);
      if (rows != nullptr) return;
    }
    uint8_t* pixels = pixels_.resize(static_cast<size_t>(header.width * header.height * 3));
    codec_.decode(encoded_, header, header.width, header.height, pixels);
  }

  void reject(int64_t index, const BadSample& bad, ReadRepetition& total) const {
    ++total.bad;
    if (dataset_.on_error().policy == ErrorPolicy::skip) return;
    throw Error(
        ExitCode::data,
        fmt::format("dataset: {}: {}: {} (repair or remove the file, or set "
                    "dataset.on_error={{policy: skip}})",
                    dataset_.info(Split::train, index).key, to_string(bad.reason()), bad.what()));
  }

  const Dataset& dataset_;
  const ReadBenchOptions& options_;
  const ImageLimits limits_;
  std::unique_ptr<DecoderSession> session_;
  std::unique_ptr<BaselineDecoder> fast_;
  std::vector<JpegSegment> segments_;
  JpegCodec codec_;
  Buffer scratch_;
  Bytes encoded_;
  Buffer pixels_;
};

// The samples of one repetition, in order.
std::vector<int64_t> samples_of(const Dataset& dataset, const ReadBenchOptions& options,
                                int64_t epoch) {
  LoaderOptions order;
  order.batch_size = options.batch;
  order.drop_last = false;
  const int64_t all = dataset.size(Split::train);
  if (options.batches * options.batch > all) {
    throw Error(ExitCode::config,
                fmt::format("--batches {} of {} are more than the {} training samples: use fewer, "
                            "or 0 for all",
                            options.batches, options.batch, all));
  }
  std::vector<int64_t> samples =
      Sampler(order, all, Split::train, options.seed).order(epoch).samples;
  if (options.batches > 0) samples.resize(static_cast<size_t>(options.batches * options.batch));
  return samples;
}

ReadRepetition pass(std::vector<std::unique_ptr<SampleReader>>& readers, int64_t threads,
                    int64_t epoch, const std::vector<int64_t>& samples) {
  std::vector<ReadRepetition> parts(static_cast<size_t>(threads));
  std::atomic<size_t> next{0};
  const TimePoint begin = Clock::now();
  parallel_for(threads, threads, [&](int64_t thread) {
    const auto me = static_cast<size_t>(thread);
    for (size_t i = next++; i < samples.size(); i = next++) {
      readers[me]->take(epoch, samples[i], parts[me]);
    }
  });
  ReadRepetition total;
  total.seconds = seconds(Clock::now() - begin);
  for (const ReadRepetition& part : parts) {
    total.images += part.images;
    total.bytes += part.bytes;
    total.bad += part.bad;
  }
  return total;
}

void check_budget(const Dataset& dataset, const ReadRepetition& measured) {
  if (measured.bad <= dataset.on_error().budget.of(dataset.size(Split::train))) return;
  throw Error(ExitCode::data,
              fmt::format("dataset: {} bad samples, more than dataset.on_error.budget allows: look "
                          "at them with `stoker dataset inspect`",
                          measured.bad));
}

}  // namespace

EnumNames<ReadStages> enum_names(ReadStages) {
  return {
      {"read", ReadStages::read}, {"decode", ReadStages::decode}, {"resize", ReadStages::resize}};
}

std::vector<ReadBenchResult> bench_read(const Dataset& dataset, const Decoder& decoder,
                                        const FileTree* files, bool cold,
                                        const ReadBenchOptions& options,
                                        const std::function<void(int64_t, int64_t)>& progress) {
  std::vector<ReadBenchResult> results;
  std::vector<std::unique_ptr<SampleReader>> readers;
  for (const int64_t threads : options.threads) {
    results.push_back({threads, {}});
    while (std::ssize(readers) < threads) {
      readers.push_back(std::make_unique<SampleReader>(dataset, decoder, options));
    }
  }
  int64_t done = 0;
  interleave(results, options.repetitions - 1, 1, [&](ReadBenchResult& result, int64_t round) {
    const std::vector<int64_t> samples = samples_of(dataset, options, round + 1);
    std::vector<std::string> keys;
    keys.reserve(samples.size());
    for (const int64_t i : samples) keys.push_back(dataset.info(Split::train, i).key);
    std::optional<double> resident;
    if (files != nullptr) {
      resident = (cold ? evict(*files, keys) : page_cache_residency(*files, keys)).cached_share();
    }
    ReadRepetition measured = pass(readers, result.threads, round + 1, samples);
    check_budget(dataset, measured);
    measured.resident = resident;
    measured.spoiled = cold && !is_cold(resident.value_or(1));
    if (round >= 0) result.repetitions.push_back(measured);
    if (progress) progress(++done, options.repetitions * std::ssize(results));
    return true;
  });
  return results;
}

}  // namespace stoker

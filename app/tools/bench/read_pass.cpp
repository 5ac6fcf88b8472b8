#include "app/tools/bench/read_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "app/tools/bench/loader.h"
#include "io/core/error.h"
#include "io/core/random.h"
#include "io/core/threads.h"
#include "io/dataset/read_sample.h"
#include "io/decoder/decoder_options.h"
#include "io/decoder/jpeg_codec.h"
#include "io/jpeg/decoders.h"
#include "io/loader/loader.h"
#include "io/metrics/clock.h"
#include "io/metrics/hub.h"

namespace stoker {
namespace {

// What one thread does to one sample. Keeps its memory from repetition to repetition.
class SampleReader {
 public:
  SampleReader(const Dataset& dataset, const Decoder& decoder, ReadStages stages, uint64_t seed,
               bool libjpeg)
      : dataset_(dataset), stages_(stages), seed_(seed) {
    if (!libjpeg) fast_ = BaselineDecoder::create();
    if (stages != ReadStages::resize) return;
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
    const SamplePlace place{dataset_, Split::train, index};
    const EncodedSample sample = read_sample(place, scratch_);
    encoded_ = sample.bytes;
    if (stages_ == ReadStages::decode) decode();
    if (stages_ == ReadStages::resize) {
      const uint64_t seed = mix(seed_, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index));
      decode_sample(place, sample, *session_, {true, seed}, pixels_.data());
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
    throw bad_sample_error(dataset_.info(Split::train, index).key, to_string(bad.reason()),
                           bad.what());
  }

  const Dataset& dataset_;
  const ReadStages stages_;
  const uint64_t seed_;
  const ImageLimits limits_;
  std::unique_ptr<DecoderSession> session_;
  std::unique_ptr<BaselineDecoder> fast_;
  std::vector<JpegSegment> segments_;
  JpegCodec codec_;
  Buffer scratch_;
  Bytes encoded_;
  Buffer pixels_;
};

void check_stages(ReadStages stages) {
  if (stages != ReadStages::decode) return;
  throw Error(
      ExitCode::config,
      "--pipeline, --loader: a loader resizes what it decodes: use --stages read or resize");
}

// What loaders need beside the data set.
struct LoaderParts {
  std::unique_ptr<Decoder> decoder;
  Hub hub;
};

// ReadStages::read drops the bytes.
std::shared_ptr<LoaderParts> make_parts(const DataOptions& experiment, ReadStages stages) {
  check_stages(stages);
  auto parts = std::make_shared<LoaderParts>();
  Component<Decoder> decoder = experiment.decoder;
  if (stages == ReadStages::read) decoder = default_component<Decoder>("discard");
  if (stages == ReadStages::resize && decoder.info().frames) {
    decoder = changed(decoder, {"on_device=nothing"});
  }
  parts->decoder = decoder.create({});
  return parts;
}

std::unique_ptr<Loader> make_loader(const Component<Loader>& loader, const Dataset& dataset,
                                    LoaderParts& parts, uint64_t seed, int64_t batch,
                                    int64_t threads) {
  return quiet_loader(changed(loader, {fmt::format("workers={}", threads),
                                       fmt::format("batch_size={}", batch), "drop_last=false"}),
                      dataset, *parts.decoder, {}, parts.hub.train_loader(), seed);
}

// The loader without what it does for a device.
Component<Loader> up_to_host(const Component<Loader>& loader) {
  const LoaderInfo info = loader.info();
  const bool for_device = info.device_batches_ahead > 0 || info.resident;
  return for_device ? changed(loader, {"type=prefetched"}) : loader;
}

ReadRepetition take_batches(Loader& loader, int64_t epoch, int64_t samples) {
  const LoadedEpoch taken = load_epoch(loader, epoch, {}, samples);
  ReadRepetition total;
  total.seconds = taken.seconds;
  total.images = taken.images;
  total.bytes = static_cast<uint64_t>(taken.cost.bytes_read);
  total.bad = taken.bad;
  return total;
}

}  // namespace

EnumNames<ReadStages> enum_names(ReadStages) {
  return {
      {"read", ReadStages::read}, {"decode", ReadStages::decode}, {"resize", ReadStages::resize}};
}

ReadPass bare_reads(const Dataset& dataset, const Decoder& decoder, ReadStages stages,
                    uint64_t seed, bool libjpeg) {
  const auto readers = std::make_shared<std::vector<std::unique_ptr<SampleReader>>>();
  return [=, &dataset, &decoder](int64_t threads, int64_t epoch,
                                 const std::vector<int64_t>& samples) {
    while (std::ssize(*readers) < threads) {
      readers->push_back(std::make_unique<SampleReader>(dataset, decoder, stages, seed, libjpeg));
    }
    std::vector<ReadRepetition> parts(static_cast<size_t>(threads));
    std::atomic<size_t> next{0};
    const TimePoint begin = Clock::now();
    parallel_for(threads, threads, [&](int64_t thread) {
      const auto me = static_cast<size_t>(thread);
      for (size_t i = next++; i < samples.size(); i = next++) {
        (*readers)[me]->take(epoch, samples[i], parts[me]);
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
  };
}

ReadPass pipeline_reads(const Dataset& dataset, const DataOptions& experiment, ReadStages stages,
                        int64_t batch) {
  // Loaders by their number of threads, with the memory that a first pass has touched.
  struct Loaders {
    std::shared_ptr<LoaderParts> parts;
    std::map<int64_t, std::unique_ptr<Loader>> by_threads;
  };
  const auto loaders = std::make_shared<Loaders>(Loaders{make_parts(experiment, stages), {}});
  return [=, &dataset, seed = experiment.run.seed](int64_t threads, int64_t epoch,
                                                   const std::vector<int64_t>& samples) {
    std::unique_ptr<Loader>& loader = loaders->by_threads[threads];
    if (!loader) {
      const Component<Loader> map = changed(default_component<Loader>("threaded"),
                                            {fmt::format("samples_ahead={}", threads)});
      loader = make_loader(map, dataset, *loaders->parts, seed, batch, threads);
    }
    return take_batches(*loader, epoch, std::ssize(samples));
  };
}

ReadPass loader_reads(const Dataset& dataset, const DataOptions& experiment, ReadStages stages,
                      int64_t batch, const std::function<ReadRepetition::Asked()>& asked) {
  const auto parts = make_parts(experiment, stages);
  const Component<Loader> component = up_to_host(experiment.loader);
  return [=, &dataset, seed = experiment.run.seed](int64_t threads, int64_t epoch,
                                                   const std::vector<int64_t>& samples) {
    const auto loader = make_loader(component, dataset, *parts, seed, batch, threads);
    const ReadPass pass = counted(
        [&](int64_t, int64_t, const std::vector<int64_t>&) {
          return take_batches(*loader, epoch, std::ssize(samples));
        },
        asked);
    return pass(threads, epoch, samples);
  };
}

std::function<ReadRepetition::Asked()> asked_of(const Hub& hub, const std::string& tier) {
  return [&hub, tier] {
    ReadRepetition::Asked asked;
    for (const TierMeter::State& part : hub.tiers()) {
      if (part.name != tier) continue;
      for (const auto& op : part.ops) asked.requests += op.count;
      asked.bytes = part.ops[static_cast<size_t>(TierOp::read)].bytes;
    }
    return asked;
  };
}

ReadPass counted(ReadPass pass, std::function<ReadRepetition::Asked()> asked) {
  if (!asked) return pass;
  return [pass = std::move(pass), asked = std::move(asked)](int64_t threads, int64_t epoch,
                                                            const std::vector<int64_t>& samples) {
    const ReadRepetition::Asked before = asked();
    ReadRepetition measured = pass(threads, epoch, samples);
    const ReadRepetition::Asked after = asked();
    measured.asked = {after.requests - before.requests, after.bytes - before.bytes};
    return measured;
  };
}

}  // namespace stoker

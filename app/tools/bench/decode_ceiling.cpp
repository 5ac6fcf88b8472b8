#include "app/tools/bench/decode_ceiling.h"

#include <turbojpeg.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <new>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

constexpr int kFlags = TJFLAG_ACCURATEDCT;
constexpr int64_t kHeaderPasses = 20;  // one is over before the threads have started

using Handle = std::unique_ptr<void, decltype([](void* handle) { tjDestroy(handle); })>;

Handle opened(void* handle) {
  if (handle == nullptr) throw std::bad_alloc();
  return Handle(handle);
}

struct CeilingSample {
  int64_t index = 0;
  Buffer encoded;
};

// What one thread needs. Every method returns whether libjpeg-turbo could do it.
class DecodeWorker {
 public:
  DecodeWorker() : decoder_(opened(tjInitDecompress())), transformer_(opened(tjInitTransform())) {}

  bool header(Bytes file) {
    int sampling = 0, space = 0;
    return tjDecompressHeader3(decoder_.get(), file.data(), file.size(), &width_, &height_,
                               &sampling, &space) == 0;
  }

  bool entropy(Bytes file) {
    // A transform that changes nothing and writes nothing reads the coefficients.
    tjtransform transform{};
    transform.options = TJXOPT_NOOUTPUT;
    unsigned char* output = nullptr;
    unsigned long size = 0;
    return tjTransform(transformer_.get(), file.data(), file.size(), 1, &output, &size, &transform,
                       0) == 0;
  }

  bool decode(Bytes file) {
    if (!header(file)) return false;
    uint8_t* const rgb = rgb_.resize(static_cast<size_t>(pixels()) * 3);
    return tjDecompress2(decoder_.get(), file.data(), file.size(), rgb, width_, 0, height_,
                         TJPF_RGB, kFlags) == 0;
  }

  // Memory for a file that is read anew.
  Buffer& input() { return input_; }
  // What the last header says.
  int64_t pixels() const { return int64_t{width_} * height_; }

 private:
  Handle decoder_;
  Handle transformer_;
  Buffer input_;
  Buffer rgb_;
  int width_ = 0;
  int height_ = 0;
};

using Work = std::function<void(DecodeWorker&, const CeilingSample&)>;

// Images/s of `passes` times all samples, with a thread for each worker. A thread takes the next
// sample when it is done with one.
double rate(std::vector<DecodeWorker>& workers, const std::vector<CeilingSample>& samples,
            const Work& work, int64_t passes = 1) {
  const size_t count = samples.size() * static_cast<size_t>(passes);
  std::atomic<size_t> next{0};
  const TimePoint begin = Clock::now();
  parallel_for(std::ssize(workers), std::ssize(workers), [&](int64_t thread) {
    DecodeWorker& worker = workers[static_cast<size_t>(thread)];
    for (size_t i = next++; i < count; i = next++) work(worker, samples[i % samples.size()]);
  });
  return static_cast<double>(count) / seconds(Clock::now() - begin);
}

int64_t sample_count(const Dataset& dataset, int64_t wanted) {
  const int64_t all = dataset.size(Split::train);
  if (wanted > 0) return std::min(wanted, all);
  uint64_t bytes = 0;
  for (int64_t i = 0; i < all; ++i) bytes += dataset.info(Split::train, i).bytes;
  if (bytes <= kCeilingBytes) return all;
  const double share = static_cast<double>(kCeilingBytes) / static_cast<double>(bytes);
  return std::max<int64_t>(1, static_cast<int64_t>(share * static_cast<double>(all)));
}

std::vector<CeilingSample> take_samples(const Dataset& dataset, int64_t wanted,
                                        DecodeCeiling& ceiling) {
  const int64_t all = dataset.size(Split::train);
  const int64_t count = sample_count(dataset, wanted);
  std::vector<CeilingSample> samples;
  DecodeWorker worker;
  for (int64_t i = 0; i < count; ++i) {
    CeilingSample sample{i * all / count, {}};
    try {
      dataset.read(Split::train, sample.index, sample.encoded);
    } catch (const BadSample&) {
      continue;
    }
    const Bytes file = sample.encoded.bytes();
    if (!worker.entropy(file) || !worker.decode(file)) continue;
    ceiling.bytes_per_image += static_cast<double>(file.size());
    ceiling.pixels_per_image += static_cast<double>(worker.pixels());
    samples.push_back(std::move(sample));
  }
  ceiling.samples = static_cast<int64_t>(samples.size());
  ceiling.left_out = count - ceiling.samples;
  if (samples.empty()) return samples;
  ceiling.bytes_per_image /= static_cast<double>(samples.size());
  ceiling.pixels_per_image /= static_cast<double>(samples.size());
  return samples;
}

}  // namespace

std::optional<DecodeCeiling> measure_decode_ceiling(const Dataset& dataset,
                                                    const CeilingOptions& options) {
  DecodeCeiling ceiling;
  ceiling.threads = options.threads;
  const std::vector<CeilingSample> samples = take_samples(dataset, options.samples, ceiling);
  if (ceiling.samples == 0 || ceiling.samples < 9 * ceiling.left_out) return std::nullopt;

  std::vector<DecodeWorker> workers(static_cast<size_t>(options.threads));
  const Work header = [](DecodeWorker& worker, const CeilingSample& sample) {
    worker.header(sample.encoded.bytes());
  };
  const Work entropy = [](DecodeWorker& worker, const CeilingSample& sample) {
    worker.entropy(sample.encoded.bytes());
  };
  const Work decode = [](DecodeWorker& worker, const CeilingSample& sample) {
    worker.decode(sample.encoded.bytes());
  };
  const Work read_decode = [&](DecodeWorker& worker, const CeilingSample& sample) {
    dataset.read(Split::train, sample.index, worker.input());
    worker.decode(worker.input().bytes());
  };
  rate(workers, samples, decode);  // faults the memory in
  for (int64_t round = 0; round < options.rounds; ++round) {
    ceiling.header.push_back(rate(workers, samples, header, kHeaderPasses));
    ceiling.entropy.push_back(rate(workers, samples, entropy));
    ceiling.decode.push_back(rate(workers, samples, decode));
    ceiling.read_decode.push_back(rate(workers, samples, read_decode));
  }
  return ceiling;
}

}  // namespace stoker

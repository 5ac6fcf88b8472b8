#include <benchmark/benchmark.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/decoder/decoder.h"
#include "io/decoder/jpeg_header.h"
#include "io/decoder/resize.h"
#include "io/decoder/transform.h"
#include "io/jpeg/decoders.h"
#include "io/storage/storage.h"

// What one image costs one thread, from the file to 224 x 224 pixels, beside a plain OpenCV loop.
//
//   decoder_bench FOLDER [ROUNDS] [--benchmark_...]
//
// Every round goes over all .jpg files of FOLDER once; the rounds of all benchmarks are interleaved
// in random order, so that a busy machine hits them alike. per_image is CPU time, with the files in
// the page cache; compare minima or medians.

namespace stoker {
namespace {

constexpr int kSize = 224;

template <class Kind>
std::unique_ptr<Kind> make(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "benchmark");
  return Registry<Kind>::global().parse(Section(node, "", Kind::kKind, nullptr)).create({});
}

struct Files {
  explicit Files(const std::string& folder)
      : root(folder), storage(make<Storage>("{type: posix, root: \"" + folder + "\"}")) {
    for (const ObjectInfo& object : storage->list("")) {
      if (object.key.ends_with(".jpg")) keys.push_back(object.key);
    }
    if (keys.empty()) throw std::runtime_error(folder + ": no .jpg files");
  }
  std::string root;
  std::unique_ptr<Storage> storage;
  std::vector<std::string> keys;
};

// One call of `once` per file and iteration.
void run(benchmark::State& state, const Files& files,
         const std::function<void(const std::string& key)>& once) {
  for (auto _ : state) {
    for (const std::string& key : files.keys) once(key);
  }
  state.counters["per_image"] = benchmark::Counter(
      static_cast<double>(files.keys.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void bench_read(benchmark::State& state, const Files& files) {
  Buffer buffer;
  run(state, files, [&](const std::string& key) { files.storage->read(key, buffer); });
}

void bench_decode(benchmark::State& state, const Files& files) {
  Buffer buffer, pixels;
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitDecompress(), tjDestroy);
  run(state, files, [&](const std::string& key) {
    files.storage->read(key, buffer);
    const JpegHeader header = read_jpeg_header(buffer.bytes());
    uint8_t* out = pixels.resize(static_cast<size_t>(header.width * header.height * 3));
    tjDecompress2(handle.get(), buffer.data(), buffer.size(), out, static_cast<int>(header.width),
                  0, static_cast<int>(header.height), TJPF_RGB, TJFLAG_ACCURATEDCT);
  });
}

void bench_session(benchmark::State& state, const Files& files, const std::string& options,
                   bool train) {
  const auto decoder = make<Decoder>("{type: " + options + "}");
  const auto session = decoder->open();
  std::vector<uint8_t> out(decoder->spec().bytes());
  Buffer buffer;
  uint64_t seed = 0;
  run(state, files, [&](const std::string& key) {
    files.storage->read(key, buffer);
    session->decode(buffer.bytes(), {train, ++seed}, out.data());
  });
}

ImageOptions random_crops() {
  ImageOptions options;
  options.augment = {RandomResizedCrop{}, true, std::nullopt};
  return options;
}

// The same random crops as the decoder's, but all of the image is decoded for them.
void bench_whole_then_crop(benchmark::State& state, const Files& files) {
  const ImageOptions options = random_crops();
  Transform transform(options);
  const auto decoder = BaselineDecoder::create();
  std::vector<JpegSegment> segments;
  std::vector<uint8_t> out(options.spec().bytes());
  Buffer buffer;
  uint64_t seed = 0;
  run(state, files, [&](const std::string& key) {
    files.storage->read(key, buffer);
    const JpegHeader header = read_jpeg_header(buffer.bytes(), &segments);
    const SamplePlan plan = transform.plan({true, ++seed}, header.width, header.height, 1);
    PixelRows* rows =
        decoder->decode(buffer.bytes(), header, segments, {0, 0, header.width, header.height});
    if (rows == nullptr) throw std::runtime_error(key + ": no file for the fast decoder");
    transform.apply(plan, *rows, 1, out.data());
  });
}

void bench_opencv_decode(benchmark::State& state, const Files& files) {
  cv::Mat image;
  run(state, files, [&](const std::string& key) {
    image = cv::imread(files.root + "/" + key, cv::IMREAD_COLOR);
  });
}

void bench_opencv(benchmark::State& state, const Files& files) {
  cv::Mat resized;
  run(state, files, [&](const std::string& key) {
    const cv::Mat image = cv::imread(files.root + "/" + key, cv::IMREAD_COLOR);
    cv::resize(image, resized, {kSize, kSize}, 0, 0, cv::INTER_LINEAR);
  });
}

void bench_resize(benchmark::State& state, ResizeMethod method) {
  const int width = 300, height = 240;
  std::vector<uint8_t> pixels(width * height * 3 + PixelView::kSlack, 7), out(kSize * kSize * 3);
  ViewRows rows({pixels.data(), width, height});
  Resizer resizer(method);
  bool wide = false;  // another geometry every time: tables are made as they are for real files
  for (auto _ : state) {
    wide = !wide;
    resizer.resize(rows, {{0, 0, width - (wide ? 1.0 : 0.0), height}, kSize, kSize}, out.data());
  }
}

void bench_opencv_resize(benchmark::State& state) {
  const cv::Mat image(240, 300, CV_8UC3, cv::Scalar(7));
  cv::Mat resized;
  for (auto _ : state) cv::resize(image, resized, {kSize, kSize}, 0, 0, cv::INTER_LINEAR);
}

void add(const std::string& name, int rounds, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->Iterations(1)
      ->Repetitions(rounds)
      ->Unit(benchmark::kMillisecond)
      ->ReportAggregatesOnly()
      ->ComputeStatistics("min", [](const std::vector<double>& values) {
        return *std::min_element(values.begin(), values.end());
      });
}

void add_all(const Files& files, int rounds) {
  using State = benchmark::State;
  add("read", rounds, [&](State& state) { bench_read(state, files); });
  const std::string crops =
      ", scaled_decode: false, augment: {random_resized_crop: {}, flip: true}";
  add("libjpeg/read+decode", rounds, [&](State& state) { bench_decode(state, files); });
  for (const std::string type : {"jpeg", "turbojpeg"}) {
    const auto session = [&, type](const std::string& what, const std::string& options,
                                   bool train) {
      add(type + "/read+decode+" + what, rounds, [&files, type, options, train](State& state) {
        bench_session(state, files, type + options, train);
      });
    };
    session("resize", "", false);
    session("float32", ", output: float32", false);
    session("antialias", ", resize: antialias", false);
    session("frame", ", on_device: resize, frame: 512KiB", false);
    session("random_crop", crops, true);
  }
  add("jpeg/read+decode_whole+random_crop", rounds,
      [&](State& state) { bench_whole_then_crop(state, files); });
  add("opencv/read+decode", rounds, [&](State& state) { bench_opencv_decode(state, files); });
  add("opencv/read+decode+resize", rounds, [&](State& state) { bench_opencv(state, files); });
  benchmark::RegisterBenchmark("resize/300x240/bilinear", bench_resize, ResizeMethod::bilinear);
  benchmark::RegisterBenchmark("resize/300x240/antialias", bench_resize, ResizeMethod::antialias);
  benchmark::RegisterBenchmark("opencv/resize/300x240", bench_opencv_resize);
}

int bench_main(int argc, char** argv) {
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, interleave.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (count < 2) {
    std::fputs("usage: decoder_bench FOLDER [ROUNDS] [--benchmark_...]\n", stderr);
    return 2;
  }
  cv::setNumThreads(0);
  const Files files(arguments[1]);
  Buffer buffer;
  for (const std::string& key : files.keys) files.storage->read(key, buffer);
  add_all(files, count > 2 ? std::stoi(arguments[2]) : 5);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) { return stoker::bench_main(argc, argv); }

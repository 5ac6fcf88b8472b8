#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>

#include "io/jpeg/decoders.h"
#include "io/jpeg/scan_decoder.h"
#include "tests/decoder/jpeg_blocks.h"

// What our decoder of JPEG files and its parts cost, beside libjpeg-turbo's.
//
//   jpeg_bench FILE... [--benchmark_...]
//
// One round of files/... is all FILEs; per_image is CPU time. Of libjpeg-turbo's times differences
// count, because its parts are not to be had alone:
//   decode - coefficients       everything behind the entropy decoder = inverse_dct + rgb_rows
//   planes - coefficients       inverse_dct
//   planes_to_rgb               rgb_rows
// Ours: scan is the entropy decoder and the inverse DCT; decode is everything, in RGB rows.

namespace stoker {
namespace {

struct Image {
  explicit Image(const std::string& path) : file(read_file(path)), jpeg(file), samples(jpeg) {}
  File file;
  JpegBlocks jpeg;
  Samples samples;
};

using Images = std::vector<std::unique_ptr<Image>>;
using Handle = std::unique_ptr<void, int (*)(void*)>;

// `values`: how many of the scan may be other than zero.
void bench_blocks(benchmark::State& state, size_t side, size_t values) {
  Random random(1);
  std::vector<Block> blocks(64);
  std::vector<DctBlock> jobs;
  Block quantisation{};
  std::fill_n(quantisation.values, 64, int16_t{7});
  std::vector<uint8_t> out(64 * 64);
  for (size_t i = 0; i < 64; ++i) {
    for (size_t k = 0; k < values; ++k) {
      blocks[i].values[k] = static_cast<int16_t>(1 + random.below(10));
    }
    jobs.push_back({blocks[i].values, quantisation.values,
                    out.data() + i / 8 * 64 * side + i % 8 * side, 64, side});
  }
  const InverseDcts dcts = best_inverse_dcts();
  for (auto _ : state) {
    to_samples(dcts, jobs);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 64);
}

void bench_rows(benchmark::State& state, int subsampling) {
  const int width = 300, height = 200;
  const bool gray = subsampling == TJSAMP_GRAY;
  const File file = encoded(scene(width, height, gray ? 1 : 3, Random(1)), width, height,
                            gray ? TJPF_GRAY : TJPF_RGB, subsampling, 80);
  const Samples samples{JpegBlocks(file)};
  Buffer scratch;
  for (auto _ : state) {
    RgbRows rows(best_rgb_kernels(), samples.planes, 0, width, scratch);
    for (int64_t y = 0; y < height; ++y) benchmark::DoNotOptimize(rows.row(y));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * width * height);
}

template <class F>
void bench_files(benchmark::State& state, const Images& images, const F& each) {
  for (auto _ : state) {
    for (const auto& image : images) each(*image);
  }
  using Counter = benchmark::Counter;
  state.counters["per_image"] =
      Counter(static_cast<double>(images.size()),
              Counter::Flags(Counter::kIsIterationInvariantRate | Counter::kInvert));
}

void inverse_dcts(Image& image) {
  const auto& [file, jpeg, samples] = image;
  for (size_t c = 0; c < jpeg.components.size(); ++c) {
    inverse_dct(best_inverse_dcts(), jpeg.components[c], jpeg.quantisation[c],
                samples.planes.planes[c]);
  }
}

void rgb_rows(const Image& image, Buffer& scratch) {
  RgbRows rows(best_rgb_kernels(), image.samples.planes, 0, image.jpeg.width, scratch);
  for (int64_t y = 0; y < image.jpeg.height; ++y) benchmark::DoNotOptimize(rows.row(y));
}

void add_files(const Images& images) {
  const auto add = [&](const char* name, auto each) {
    benchmark::RegisterBenchmark(name, [&images, each](benchmark::State& state) {
      bench_files(state, images, each);
    })->Unit(benchmark::kMillisecond);
  };
  add("files/inverse_dct", [](Image& image) { inverse_dcts(image); });
  add("files/rgb_rows", [](Image& image) {
    static Buffer scratch;
    rgb_rows(image, scratch);
  });
  add("files/inverse_dct+rgb_rows", [](Image& image) {
    static Buffer scratch;
    inverse_dcts(image);
    rgb_rows(image, scratch);
  });
}

// The whole of our decoder, and its parts one by one: without the inverse DCT's, which is inside of
// scan.
void add_ours(const Images& images) {
  struct Parts {
    std::vector<JpegSegment> segments;
    JpegFrame frame;
    ScanBytes bytes;
    ScanDecoder decoder;
    std::unique_ptr<BaselineDecoder> whole = BaselineDecoder::create();
  };
  static Parts parts;
  const auto add = [&](const char* name, auto each) {
    benchmark::RegisterBenchmark(name, [&images, each](benchmark::State& state) {
      bench_files(state, images, each);
    })->Unit(benchmark::kMillisecond);
  };
  const auto unstuff = [](Image& image) {
    const JpegHeader header = read_jpeg_header(image.file, &parts.segments);
    if (!parts.frame.assign(header, parts.segments)) return false;
    return parts.bytes.assign(Bytes(image.file).subspan(header.first_scan),
                              parts.frame.restart_interval != 0);
  };
  add("files/ours/header+unstuff", unstuff);
  add("files/ours/header+unstuff+scan", [unstuff](Image& image) {
    if (!unstuff(image)) return;
    const McuGrid grid = mcu_grid(parts.frame);
    parts.decoder.decode(parts.frame, parts.bytes, {0, grid.columns, 0, grid.rows},
                         image.samples.planes);
  });
  add("files/ours/decode", [](Image& image) {
    const JpegHeader header = read_jpeg_header(image.file, &parts.segments);
    PixelRows* rows = parts.whole->decode(image.file, header, parts.segments,
                                          {0, 0, header.width, header.height});
    for (int64_t y = 0; rows != nullptr && y < header.height; ++y) {
      benchmark::DoNotOptimize(rows->row(y));
    }
  });
}

void add_libjpeg(const Images& images) {
  static const Handle decompress(tjInitDecompress(), tjDestroy);
  static const Handle transform(tjInitTransform(), tjDestroy);
  static Pixels rgb;
  const auto add = [&](const char* name, auto each) {
    benchmark::RegisterBenchmark(name, [&images, each](benchmark::State& state) {
      bench_files(state, images, each);
    })->Unit(benchmark::kMillisecond);
  };
  add("files/libjpeg/decode", [](Image& image) {
    const auto& [file, jpeg, samples] = image;
    rgb.resize(static_cast<size_t>(jpeg.width * jpeg.height * 3));
    tjDecompress2(decompress.get(), file.data(), file.size(), rgb.data(), jpeg.width, 0,
                  jpeg.height, TJPF_RGB, TJFLAG_ACCURATEDCT);
  });
  add("files/libjpeg/coefficients", [](Image& image) {
    tjtransform nothing{};
    nothing.options = TJXOPT_NOOUTPUT;
    unsigned char* out = nullptr;
    unsigned long bytes = 0;
    tjTransform(transform.get(), image.file.data(), image.file.size(), 1, &out, &bytes, &nothing,
                0);
  });
  add("files/libjpeg/planes", [](Image& image) {
    auto& planes = image.samples.planes.planes;
    unsigned char* pointers[3] = {planes[0].data, planes[1].data, planes[2].data};
    int strides[3];
    for (size_t c = 0; c < 3; ++c) strides[c] = static_cast<int>(planes[c].stride);
    tjDecompressToYUVPlanes(decompress.get(), image.file.data(), image.file.size(), pointers,
                            image.jpeg.width, strides, image.jpeg.height, TJFLAG_ACCURATEDCT);
  });
  add("files/libjpeg/planes_to_rgb", [](Image& image) {
    const auto& [file, jpeg, samples] = image;
    const auto& planes = samples.planes.planes;
    const unsigned char* pointers[3] = {planes[0].data, planes[1].data, planes[2].data};
    int strides[3];
    for (size_t c = 0; c < 3; ++c) strides[c] = static_cast<int>(planes[c].stride);
    rgb.resize(static_cast<size_t>(jpeg.width * jpeg.height * 3));
    tjDecodeYUVPlanes(decompress.get(), pointers, strides, jpeg.subsampling, rgb.data(), jpeg.width,
                      0, jpeg.height, TJPF_RGB, 0);
  });
}

int bench_main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc < 2) {
    std::fputs("usage: jpeg_bench FILE... [--benchmark_...]\n", stderr);
    return 2;
  }
  Images images;
  for (int i = 1; i < argc; ++i) images.push_back(std::make_unique<Image>(argv[i]));
  for (const size_t values : {64u, 10u, 1u}) {
    const std::string name = "blocks/8x8/" + std::to_string(values);
    benchmark::RegisterBenchmark(name.c_str(), bench_blocks, 8, values);
  }
  for (const size_t side : {4u, 2u, 1u}) {
    const std::string name = "blocks/reduced/" + std::to_string(side);
    benchmark::RegisterBenchmark(name.c_str(), bench_blocks, side, 64);
  }
  benchmark::RegisterBenchmark("rows/300x200/420", bench_rows, TJSAMP_420);
  benchmark::RegisterBenchmark("rows/300x200/422", bench_rows, TJSAMP_422);
  benchmark::RegisterBenchmark("rows/300x200/444", bench_rows, TJSAMP_444);
  benchmark::RegisterBenchmark("rows/300x200/gray", bench_rows, TJSAMP_GRAY);
  add_files(images);
  add_ours(images);
  add_libjpeg(images);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) { return stoker::bench_main(argc, argv); }

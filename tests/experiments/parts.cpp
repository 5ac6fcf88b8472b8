#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/jpeg/baseline_decoder.h"
#include "io/jpeg/scan_decoder.h"
#include "io/metrics/tier_meter.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"
#include "tests/decoder/jpeg_blocks.h"

// What no command of the program and no call of the Python package reaches, once; the experiments
// jpeg_parts.py and emulated_tier.py do it again and again, and print tables.
//
//   parts jpeg PART FILE...                       us of the processor for an image, of all files
//   parts jpeg blocks/SIDE                        ns of an inverse DCT to SIDE x SIDE samples
//   parts tier YAML OP BYTES THREADS SECONDS AT   [operations/s, bytes/s, seconds overrun]
//
// OP: read (whole objects), metadata (remove what is not there), append (pieces of BYTES, each
// thread its own file, from its begin to 64 MiB). AT: the time of the monotonic clock at which
// several processes begin to count.

namespace stoker {
namespace {

using Arguments = std::vector<std::string>;
using Handle = std::unique_ptr<void, int (*)(void*)>;

struct Image {
  explicit Image(const std::string& path) : file(read_file(path)), jpeg(file), samples(jpeg) {}
  File file;
  JpegBlocks jpeg;
  Samples samples;
};

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Rows>
void take_rows(Rows& rows, int64_t height) {
  for (int64_t y = 0; y < height; ++y) asm volatile("" ::"r"(rows.row(y)) : "memory");
}

void rgb_rows(Image& image) {
  static Buffer scratch;
  RgbRows rows(best_rgb_kernels(), image.samples.planes, 0, image.jpeg.width, scratch);
  take_rows(rows, image.jpeg.height);
}

void inverse_dcts(Image& image) {
  for (size_t c = 0; c < image.jpeg.components.size(); ++c) {
    inverse_dct(best_inverse_dcts(), image.jpeg.components[c], image.jpeg.quantisation[c],
                image.samples.planes.planes[c]);
  }
}

void scan(Image& image) {
  static std::vector<JpegSegment> segments;
  static JpegFrame frame;
  static ScanBytes bytes;
  static ScanDecoder decoder;
  const JpegHeader header = read_jpeg_header(image.file, &segments);
  if (!frame.assign(header, segments)) return;
  const Bytes scanned = Bytes(image.file).subspan(header.first_scan);
  if (!bytes.assign(scanned, frame.restart_interval != 0)) return;
  const McuGrid grid = mcu_grid(frame);
  decoder.decode(frame, bytes, {0, grid.columns, 0, grid.rows}, image.samples.planes);
}

void decode(Image& image) {
  static std::vector<JpegSegment> segments;
  static const std::unique_ptr<BaselineDecoder> whole = BaselineDecoder::create();
  const JpegHeader header = read_jpeg_header(image.file, &segments);
  PixelRows* rows =
      whole->decode(image.file, header, segments, {0, 0, header.width, header.height});
  if (rows != nullptr) take_rows(*rows, header.height);
}

struct Planes {
  explicit Planes(Image& image) {
    for (size_t c = 0; c < 3; ++c) {
      pointers[c] = image.samples.planes.planes[c].data;
      strides[c] = static_cast<int>(image.samples.planes.planes[c].stride);
    }
    rgb.resize(static_cast<size_t>(image.jpeg.width * image.jpeg.height * 3));
  }
  unsigned char* pointers[3];
  int strides[3];
  static inline Pixels rgb;
};

void of_libjpeg(Image& image, const std::string& part) {
  static const Handle decompress(tjInitDecompress(), tjDestroy);
  static const Handle transform(tjInitTransform(), tjDestroy);
  const auto& [file, jpeg, samples] = image;
  Planes planes(image);
  if (part == "decode") {
    tjDecompress2(decompress.get(), file.data(), file.size(), Planes::rgb.data(), jpeg.width, 0,
                  jpeg.height, TJPF_RGB, TJFLAG_ACCURATEDCT);
  } else if (part == "coefficients") {
    tjtransform nothing{};
    nothing.options = TJXOPT_NOOUTPUT;
    unsigned char* out = nullptr;
    unsigned long bytes = 0;
    tjTransform(transform.get(), file.data(), file.size(), 1, &out, &bytes, &nothing, 0);
  } else if (part == "planes") {
    tjDecompressToYUVPlanes(decompress.get(), file.data(), file.size(), planes.pointers, jpeg.width,
                            planes.strides, jpeg.height, TJFLAG_ACCURATEDCT);
  } else {
    const unsigned char* from[3] = {planes.pointers[0], planes.pointers[1], planes.pointers[2]};
    tjDecodeYUVPlanes(decompress.get(), from, planes.strides, jpeg.subsampling, Planes::rgb.data(),
                      jpeg.width, 0, jpeg.height, TJPF_RGB, 0);
  }
}

// Nanoseconds; all 64 coefficients may be other than zero.
double blocks(size_t side) {
  constexpr int kTimes = 20'000;
  Random random(1);
  std::vector<Block> blocks(64);
  std::vector<DctBlock> jobs;
  Block quantisation{};
  std::fill_n(quantisation.values, 64, int16_t{7});
  std::vector<uint8_t> out(64 * 64);
  for (size_t i = 0; i < 64; ++i) {
    for (int16_t& value : blocks[i].values) value = static_cast<int16_t>(1 + random.below(10));
    jobs.push_back({blocks[i].values, quantisation.values,
                    out.data() + i / 8 * 64 * side + i % 8 * side, 64, side});
  }
  const InverseDcts dcts = best_inverse_dcts();
  const double begin = cpu_s();
  for (int i = 0; i < kTimes; ++i) to_samples(dcts, jobs);
  return 1e9 * (cpu_s() - begin) / kTimes / 64;
}

double jpeg(const Arguments& words) {
  const std::string& part = words.at(2);
  if (part.starts_with("blocks/")) return blocks(std::stoul(part.substr(7)));
  static const std::map<std::string, void (*)(Image&)> kOurs = {
      {"scan", scan}, {"inverse_dct", inverse_dcts}, {"rgb_rows", rgb_rows}, {"decode", decode}};
  const std::string name = part.substr(part.find('/') + 1);
  const auto once = [&](Image& image) {
    part.starts_with("ours/") ? kOurs.at(name)(image) : of_libjpeg(image, name);
  };
  std::vector<std::unique_ptr<Image>> images;
  for (size_t i = 3; i < words.size(); ++i) images.push_back(std::make_unique<Image>(words[i]));
  for (const auto& image : images) once(*image);  // does not count
  const double begin = cpu_s();
  for (const auto& image : images) once(*image);
  return 1e6 * (cpu_s() - begin) / static_cast<double>(images.size());
}

struct Operations {
  explicit Operations(const Arguments& given) : words(given) {
    const Node node = parse_yaml(words.at(2), "TIER");
    const auto parsed = Registry<Storage>::global().parse(Section(node, "", "storage", nullptr));
    tier = parsed.create({.name = "parts", .notify = [](const std::string&) {}, .meter = &meter});
    if (words.at(3) == "read") {
      for (const ObjectInfo& object : tier->list("")) keys.push_back(object.key);
    }
  }
  Arguments words;
  Tracer tracer;
  TierMeter meter{"parts", "", true, tracer};
  std::unique_ptr<Storage> tier;
  std::vector<std::string> keys;
  std::mutex mutex;
  double done = 0, bytes = 0;

  // What one thread does again and again; gives bytes.
  std::function<uint64_t()> step(size_t thread) {
    const uint64_t size = std::stoull(words.at(4));
    if (words.at(3) == "metadata") {
      return [this, key = "none-" + std::to_string(thread)] {
        tier->remove(key);
        return uint64_t{0};
      };
    }
    if (words.at(3) == "append") {
      const std::string name =
          "append-" + std::to_string(::getpid()) + "-" + std::to_string(thread);
      auto file = std::make_shared<TreeFile>(files_of(*tier)->create(name, FileAccess::buffered));
      return [file, piece = std::vector<uint8_t>(size, 1), at = uint64_t{0}]() mutable {
        file->write_at(at, piece);
        at = at + 2 * piece.size() > 64 << 20 ? 0 : at + piece.size();
        return uint64_t{piece.size()};
      };
    }
    return [this, buffer = std::make_shared<Buffer>(), next = thread]() mutable {
      tier->read(keys.at(next++ % keys.size()), *buffer);
      return uint64_t{buffer->size()};
    };
  }

  // What lies in the interval by a part counts by that part.
  void count(size_t thread, TimePoint from, TimePoint end) {
    const auto once = step(thread);
    for (TimePoint begin = Clock::now(); begin < end;) {
      const uint64_t size = once();
      const TimePoint now = Clock::now();
      const double inside = seconds(std::min(now, end) - std::max(begin, from));
      if (inside > 0) {
        const std::lock_guard lock(mutex);
        done += inside / seconds(now - begin);
        bytes += inside / seconds(now - begin) * static_cast<double>(size);
      }
      begin = now;
    }
  }
};

void tier(const Arguments& words) {
  Operations operations(words);
  const auto in_clock = [](double s) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
  };
  const double span = std::stod(words.at(6));
  const TimePoint from(in_clock(std::stod(words.at(7))));
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < std::stoul(words.at(5)); ++i) {
      threads.emplace_back([&, i] { operations.count(i, from, from + in_clock(span)); });
    }
  }
  std::printf("[%.6f, %.3f, %.6f]\n", operations.done / span, operations.bytes / span,
              operations.meter.state().overrun_s);
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  const stoker::Arguments words(argv, argv + argc);
  if (argc < 3) return 2;
  if (words[1] == "tier") {
    stoker::tier(words);
  } else {
    std::printf("%.4f\n", stoker::jpeg(words));
  }
}

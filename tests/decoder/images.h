#pragma once

#include <turbojpeg.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/decoder/decoder.h"

// What the tests of the decoders share: real files, changes to them, and images made by libjpeg.

namespace stoker {

using File = std::vector<uint8_t>;
using Pixels = std::vector<uint8_t>;

inline File read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string mini(const std::string& name) {
  return std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini/" + name;
}

// The 500 real files that ship, sorted.
inline std::vector<std::string> mini_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(mini(""))) {
    if (entry.path().extension() == ".jpg") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::unique_ptr<Decoder> make_decoder(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test.yaml");
  return Registry<Decoder>::global().parse(Section(node, "", "decoder", nullptr)).create({});
}

inline Pixels decode(DecoderSession& session, const Decoder& decoder, const File& file,
                     const DecodeMode& mode = {}, uint8_t poison = 0) {
  Pixels out(decoder.spec().bytes(), poison);
  session.decode(file, mode, out.data());
  return out;
}

inline Pixels decode(const std::string& yaml, const File& file, const DecodeMode& mode = {}) {
  const auto decoder = make_decoder(yaml);
  return decode(*decoder->open(), *decoder, file, mode);
}

// "truncated: the file ends ..."
inline std::string reason_of(const std::string& yaml, const File& file) {
  try {
    decode(yaml, file);
  } catch (const BadSample& bad) {
    return std::string(to_string(bad.reason())) + ": " + bad.what();
  }
  return "decoded";
}

inline double mean_difference(const uint8_t* a, const uint8_t* b, size_t bytes) {
  int64_t sum = 0;
  for (size_t i = 0; i < bytes; ++i) sum += std::abs(int{a[i]} - int{b[i]});
  return static_cast<double>(sum) / static_cast<double>(bytes);
}

inline double mean_difference(const Pixels& a, const Pixels& b) {
  if (a.size() != b.size()) throw std::logic_error("images of different sizes");
  return mean_difference(a.data(), b.data(), a.size());
}

// Where a segment's marker starts (its ff), looked for from the file's start; the marker must
// exist.
inline size_t find_marker(const File& file, uint8_t marker) {
  for (size_t at = 2; at + 3 < file.size(); at += 2u + (file[at + 2] << 8 | file[at + 3])) {
    if (file[at] == 0xff && file[at + 1] == marker) return at;
    if (file[at] != 0xff || file[at + 1] == 0xda) break;
  }
  throw std::logic_error("no such marker");
}

inline File with_size(File file, int width, int height) {
  const size_t frame = find_marker(file, 0xc0);
  file[frame + 5] = static_cast<uint8_t>(height >> 8);
  file[frame + 6] = static_cast<uint8_t>(height);
  file[frame + 7] = static_cast<uint8_t>(width >> 8);
  file[frame + 8] = static_cast<uint8_t>(width);
  return file;
}

inline File inserted(File file, size_t at, const File& bytes) {
  file.insert(file.begin() + static_cast<ptrdiff_t>(at), bytes.begin(), bytes.end());
  return file;
}

inline File cut(const File& file, size_t bytes) {
  return {file.begin(), file.begin() + static_cast<ptrdiff_t>(bytes)};
}

// A field of a TIFF structure: its type, how many values, and its last four bytes: the value or,
// where it has more than four bytes, its offset, which is 26 here: of what follows.
struct TiffField {
  uint16_t type = 3;
  uint32_t count = 1;
  File value;
  File far = {};
};

// A TIFF structure with nothing but an orientation, in either byte order. Numbers are those of the
// byte order already.
inline File tiff(const TiffField& field, bool big_endian) {
  const auto number = [&](uint32_t value, int bytes) {
    File result;
    for (int i = 0; i < bytes; ++i) {
      result.push_back(static_cast<uint8_t>(value >> 8 * (big_endian ? bytes - 1 - i : i)));
    }
    return result;
  };
  File result(2, big_endian ? 'M' : 'I');
  for (const File& part :
       {number(42, 2), number(8, 4), number(1, 2), number(0x112, 2), number(field.type, 2),
        number(field.count, 4), field.value, number(0, 4), field.far}) {
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

inline File tiff(uint8_t orientation, bool big_endian) {
  return tiff({.value = big_endian ? File{0, orientation, 0, 0} : File{orientation, 0, 0, 0}},
              big_endian);
}

inline File with_exif(const File& file, const File& exif) {
  File segment{0xff, 0xe1, 0, static_cast<uint8_t>(8 + exif.size()), 'E', 'x', 'i', 'f', 0, 0};
  segment.insert(segment.end(), exif.begin(), exif.end());
  return inserted(file, 2, segment);
}

inline File with_orientation(const File& file, uint8_t orientation, bool big_endian = false) {
  return with_exif(file, tiff(orientation, big_endian));
}

inline File transformed(const File& file, tjtransform transform) {
  unsigned char* out = nullptr;
  unsigned long bytes = 0;
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitTransform(), tjDestroy);
  if (tjTransform(handle.get(), file.data(), file.size(), 1, &out, &bytes, &transform, 0) != 0) {
    throw std::runtime_error(tjGetErrorStr2(handle.get()));
  }
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(out, tjFree);
  return {out, out + bytes};
}

// The same coefficients after a lossless operation of jpegtran.
inline File transformed(const File& file, int options) {
  tjtransform transform{};
  transform.options = options;
  return transformed(file, transform);
}

inline File progressive(const File& file) { return transformed(file, TJXOPT_PROGRESSIVE); }

inline File encoded(const Pixels& pixels, int width, int height, int format, int subsampling,
                    int quality = 100) {
  unsigned char* out = nullptr;
  unsigned long bytes = 0;
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), tjDestroy);
  if (tjCompress2(handle.get(), pixels.data(), width, 0, height, format, &out, &bytes, subsampling,
                  quality, 0) != 0) {
    throw std::runtime_error(tjGetErrorStr2(handle.get()));
  }
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(out, tjFree);
  return {out, out + bytes};
}

}  // namespace stoker

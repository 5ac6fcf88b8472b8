#include "io/decoder/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

using namespace std::string_view_literals;

constexpr auto kUnpack = "unpack it"sv;
constexpr auto kRemove = "remove it"sv;
constexpr auto kAgain = "get the file again"sv;
constexpr auto kBinary = "get the file again, as binary"sv;
constexpr auto kArrays = "write its images as files"sv;
constexpr auto kData = "read it as a data set and not as an image"sv;

// A file that begins with these bytes at this place.
struct Signature {
  size_t at;
  std::string_view bytes;
  FileKind kind;
};

constexpr FileKind other_image(std::string_view name) { return {ImageFormat::other, name}; }
constexpr FileKind no_image(std::string_view name, std::string_view advice) {
  return {ImageFormat::none, name, advice};
}

// The first that fits counts.
constexpr Signature kSignatures[] = {
    {0, "\xff\xd8\xff\xf7"sv, other_image("a JPEG-LS image")},
    {0, "\xff\xd8"sv, {ImageFormat::jpeg, "a JPEG image"}},
    {0, "\x89PNG\r\n\x1a\n"sv, {ImageFormat::png, "a PNG image"}},
    {0, "\x89PNG"sv,
     no_image("a PNG image that was damaged, as by a transfer in text mode", kBinary)},
    {8, "WEBP"sv, {ImageFormat::webp, "a WebP image"}},
    {0, "BM"sv, {ImageFormat::bmp, "a BMP image"}},
    {8, "CR\2\0"sv, other_image("a raw photograph (CR2)")},
    {0, "II*\0"sv, {ImageFormat::tiff, "a TIFF image"}},
    {0, "MM\0*"sv, {ImageFormat::tiff, "a TIFF image"}},
    {0, "II+\0"sv, other_image("a BigTIFF image")},
    {0, "MM\0+"sv, other_image("a BigTIFF image")},
    {0, "II\xbc\1"sv, other_image("a JPEG XR image")},
    {0, "GIF8"sv, other_image("a GIF image")},
    {4, "ftypavi"sv, other_image("an AVIF image")},
    {4, "ftyphe"sv, other_image("a HEIC image")},
    {4, "ftypmif1"sv, other_image("a HEIF image")},
    {4, "ftypmsf1"sv, other_image("a HEIF image")},
    {4, "ftypcrx "sv, other_image("a raw photograph (CR3)")},
    {4, "JXL \r\n\x87\n"sv, other_image("a JPEG XL image")},
    {0, "\xff\x0a"sv, other_image("a JPEG XL image")},
    {4, "jP  \r\n\x87\n"sv, other_image("a JPEG 2000 image")},
    {0, "\xff\x4f\xff\x51"sv, other_image("a JPEG 2000 image")},
    {0, "8BPS"sv, other_image("a Photoshop image")},
    {0, "gimp xcf"sv, other_image("a GIMP image")},
    {0, "\0\0\1\0"sv, other_image("an icon (ICO)")},
    {0, "v/1\1"sv, other_image("an OpenEXR image")},
    {0, "#?R"sv, other_image("a Radiance HDR image")},
    {0, "qoif"sv, other_image("a QOI image")},
    {128, "DICM"sv, other_image("a DICOM image")},
    {0, "\x1f\x8b"sv, no_image("gzip data", kUnpack)},
    {0, "PK\3\4"sv, no_image("a ZIP archive", kUnpack)},
    {0, "BZh"sv, no_image("bzip2 data", kUnpack)},
    {1, "7zXZ"sv, no_image("xz data", kUnpack)},
    {0, "\x28\xb5\x2f\xfd"sv, no_image("Zstandard data", kUnpack)},
    {0, "7z\xbc\xaf\x27\x1c"sv, no_image("a 7-Zip archive", kUnpack)},
    {0, "Rar!\x1a\7"sv, no_image("a RAR archive", kUnpack)},
    {257, "ustar"sv, no_image("a tar archive", "unpack it, or read it by dataset.type=tar_shards")},
    {0, "\x89HDF\r\n\x1a\n"sv, no_image("an HDF5 file", kData)},
    {0, "\x93NUMPY"sv, no_image("a NumPy array", kArrays)},
    {0, "\x80\2"sv, no_image("a Python pickle", kArrays)},
    {0, "\x80\3"sv, no_image("a Python pickle", kArrays)},
    {0, "\x80\4\x95"sv, no_image("a Python pickle", kArrays)},
    {0, "\x80\5\x95"sv, no_image("a Python pickle", kArrays)},
    {0, "SQLite format 3"sv, no_image("an SQLite database", kRemove)},
    {0, "\0\5\x16\7"sv, no_image("a file of macOS beside another one (AppleDouble)", kRemove)},
    {0, "\0\0\0\1Bud1"sv, no_image("a .DS_Store of macOS", kRemove)},
    {0, "\xd0\xcf\x11\xe0"sv, no_image("an OLE file, such as a Thumbs.db of Windows", kRemove)},
    {0, "%PDF-"sv, no_image("a PDF document", "write its pages as images")},
    {0, "%!PS"sv, no_image("a PostScript document", "write its pages as images")},
    {4, "ftyp"sv, no_image("a video (MP4)", "write its frames as images")},
    {0, "\x1a\x45\xdf\xa3"sv, no_image("a video (Matroska)", "write its frames as images")},
    {8, "AVI "sv, no_image("a video (AVI)", "write its frames as images")},
    {1, "ELF"sv, no_image("a program", kRemove)},
    {0, "version https://git-lfs"sv,
     no_image("a Git LFS pointer", "get the file that it stands for by `git lfs pull`")},
    {0, "/annex/objects/"sv,
     no_image("a git-annex pointer", "get the file that it stands for by `git annex get`")},
};

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// "P6" and white space: rows of pixels behind a header in text.
bool is_pnm(std::string_view head) {
  return head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '6' &&
         " \t\r\n"sv.find(head[2]) != std::string_view::npos;
}

// Without a character at the end that may have been cut.
std::string_view whole_characters(std::string_view text) {
  for (int i = 0; i < 3 && !text.empty() && static_cast<unsigned char>(text.back()) >= 0x80; ++i) {
    text.remove_suffix(1);
  }
  return text;
}

bool is_plain_text(std::string_view head) {
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < ' ' && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
  };
  const std::string_view text = whole_characters(head);
  return !text.empty() && is_text(text) && std::ranges::none_of(text, is_control);
}

// Without what may stand in front of a text: a mark of its encoding, and white space.
std::string_view without_space(std::string_view text) {
  const size_t begin = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
  return text.substr(std::min(begin, text.size()));
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

// Where a program expects an image, text is mostly what a server said in its place.
FileKind kind_of_text(std::string_view head) {
  const std::string text = lower(without_space(head));
  if (text.starts_with("<!doctype html") || text.starts_with("<html") ||
      text.starts_with("<head")) {
    return no_image("an HTML page", kAgain);
  }
  if (text.find("<svg") != std::string::npos) return other_image("an SVG drawing");
  if (text.starts_with('<')) return no_image("XML", kAgain);
  if (text.starts_with('{') || text.starts_with('[')) return no_image("JSON", kAgain);
  return no_image("text", kAgain);
}

// The beginning of a text, for a message: what the server said.
std::string quoted(std::string_view text) {
  std::string line(whole_characters(without_space(text).substr(0, 40)));
  std::ranges::replace_if(
      line, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return line;
}

std::string first_bytes(Bytes file) {
  std::string text;
  for (const uint8_t byte : file.first(std::min<size_t>(file.size(), 4))) {
    text += fmt::format(" {:02x}", byte);
  }
  return text;
}

}  // namespace

const char* to_string(ImageFormat format) {
  constexpr const char* kNames[] = {"jpeg", "png", "webp", "bmp", "tiff", "pnm", "", ""};
  return kNames[static_cast<size_t>(format)];
}

FileKind file_kind(Bytes file) {
  const std::string_view head = text_of(file.first(std::min<size_t>(file.size(), 1024)));
  for (const Signature& signature : kSignatures) {
    if (head.size() > signature.at && head.substr(signature.at).starts_with(signature.bytes)) {
      return signature.kind;
    }
  }
  if (is_pnm(head)) return {ImageFormat::pnm, "a PNM image"};
  if (is_plain_text(head)) return kind_of_text(head);
  if (!head.empty() && std::ranges::all_of(file, [](uint8_t byte) { return byte == 0; })) {
    return no_image("nothing but zeros", kAgain);
  }
  return {};
}

void refuse_file(Bytes file) {
  if (file.empty()) throw BadSample(BadReason::empty, "the file is empty");
  const FileKind kind = file_kind(file);
  if (kind.format == ImageFormat::none) {
    const std::string is =
        kind.name.empty() ? "of no kind that is known here: it starts with" + first_bytes(file)
        : kind.advice == kAgain && file[0] != 0
            ? fmt::format("{} that begins '{}': {}", kind.name, quoted(text_of(file)), kind.advice)
            : fmt::format("{}: {}", kind.name, kind.advice);
    throw BadSample(BadReason::not_an_image, "it is " + is);
  }
  throw BadSample(BadReason::unsupported,
                  fmt::format("it is {}{}", kind.name,
                              kind.format == ImageFormat::other
                                  ? ", which no decoder here reads: convert it to JPEG or PNG"
                                  : ": set decoder.type=auto, which reads it"));
}

}  // namespace stoker

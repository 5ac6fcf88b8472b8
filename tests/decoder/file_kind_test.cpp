#include "io/decoder/file_kind.h"

#include <gtest/gtest.h>

#include <string_view>

#include "io/decoder/image_header.h"
#include "tests/decoder/images.h"

namespace stoker {
namespace {

using namespace std::string_view_literals;

File bytes_of(std::string_view text, size_t size = 0) {
  File file(text.begin(), text.end());
  file.resize(std::max(size, file.size()));
  return file;
}

std::string refusal(const File& file) {
  try {
    refuse_file(file);
  } catch (const BadSample& bad) {
    return std::string(to_string(bad.reason())) + ": " + bad.what();
  }
}

TEST(FileKind, names_the_images_that_a_decoder_here_reads) {
  const std::pair<std::string_view, const char*> kinds[] = {
      {"\xff\xd8\xff\xe0"sv, "jpeg"},     {"\x89PNG\r\n\x1a\n"sv, "png"},
      {"RIFF\0\0\0\0WEBPVP8 "sv, "webp"}, {"BM\0\0"sv, "bmp"},
      {"II*\0\x08\0\0\0"sv, "tiff"},      {"MM\0*\0\0\0\x08"sv, "tiff"},
      {"P5 4 4 255\n"sv, "pnm"},          {"P6\n# by a program\n"sv, "pnm"},
  };
  for (const auto& [begin, name] : kinds) {
    EXPECT_STREQ(to_string(file_kind(bytes_of(begin, 64)).format), name);
  }
}

TEST(FileKind, names_an_image_that_nobody_reads) {
  constexpr const char* kConvert = ", which no decoder here reads: convert it to JPEG or PNG";
  const std::pair<std::string_view, std::string> images[] = {
      {"GIF89a\1\0"sv, "a GIF image"},
      {"\0\0\0\x18"
       "ftypheic\0\0"sv,
       "a HEIC image"},
      {"\0\0\0\x18"
       "ftypmif1\0\0"sv,
       "a HEIF image"},
      {"\0\0\0\x18"
       "ftypavif\0\0"sv,
       "an AVIF image"},
      {"\xff\x0a\0"sv, "a JPEG XL image"},
      {"\0\0\0\x0cJXL \r\n\x87\n"sv, "a JPEG XL image"},
      {"\0\0\0\x0cjP  \r\n\x87\n"sv, "a JPEG 2000 image"},
      {"8BPS\0\1"sv, "a Photoshop image"},
      {"<?xml version=\"1.0\"?>\n<svg>"sv, "an SVG drawing"},
      {"II*\0\x10\0\0\0CR\2\0"sv, "a raw photograph (CR2)"},
      {"\xff\xd8\xff\xf7\0\x0b"sv, "a JPEG-LS image"},
  };
  for (const auto& [begin, name] : images) {
    EXPECT_EQ(refusal(bytes_of(begin)), "unsupported: it is " + name + kConvert);
  }
  EXPECT_EQ(refusal(bytes_of("BM\0\0"sv)),
            "unsupported: it is a BMP image: set decoder.type=auto, which reads it");
}

TEST(FileKind, says_what_a_file_is_and_what_to_do_about_it) {
  const std::pair<File, std::string> others[] = {
      {bytes_of("version https://git-lfs.github.com/spec/v1\noid sha256:12"),
       "a Git LFS pointer: get the file that it stands for by `git lfs pull`"},
      {bytes_of("/annex/objects/SHA256E-s12--ab.jpg\n"),
       "a git-annex pointer: get the file that it stands for by `git annex get`"},
      {bytes_of("\x80\2]q\0."sv), "a Python pickle: write its images as files"},
      {bytes_of("\x80\5\x95\x10\0\0"sv), "a Python pickle: write its images as files"},
      {bytes_of("\n<!DOCTYPE HTML>\n<p>404</p>"),
       "an HTML page that begins '<!DOCTYPE HTML> <p>404</p>': get the file again"},
      {bytes_of("<Error><Code>AccessDenied</Code>"),
       "XML that begins '<Error><Code>AccessDenied</Code>': get the file again"},
      {bytes_of("{\"error\": 1}"), "JSON that begins '{\"error\": 1}': get the file again"},
      {bytes_of("Not Found"), "text that begins 'Not Found': get the file again"},
      {bytes_of("caf\xc3\xa9 is closed"),
       "text that begins 'caf\xc3\xa9 is closed': get the file again"},
      {bytes_of("\x1f\x8b\x08\0"sv), "gzip data: unpack it"},
      {bytes_of("PK\3\4\x14"sv), "a ZIP archive: unpack it"},
      {bytes_of("%PDF-1.7\n%\xe2\xe3"), "a PDF document: write its pages as images"},
      {bytes_of("\0\5\x16\7\0\2\0\0Mac OS X"sv),
       "a file of macOS beside another one (AppleDouble): remove it"},
      {bytes_of("\0\0\0\x20"
                "ftypisom"sv),
       "a video (MP4): write its frames as images"},
      {File(4096, 0), "nothing but zeros: get the file again"},
      {{0, 0, 0, 1}, "of no kind that is known here: it starts with 00 00 00 01"},
      {{0xff}, "of no kind that is known here: it starts with ff"},
  };
  for (const auto& [file, text] : others) EXPECT_EQ(refusal(file), "not_an_image: it is " + text);
  EXPECT_EQ(refusal({}), "empty: the file is empty");
}

TEST(FileKind, says_that_a_png_went_through_a_transfer_in_text_mode) {
  for (const std::string_view begin : {"\x89PNG\n\x1a\n\0\0"sv, "\x89PNG\r\r\n\x1a\r\n"sv}) {
    EXPECT_EQ(
        refusal(bytes_of(begin)),
        "not_an_image: it is a PNG image that was damaged, as by a transfer in text mode: get "
        "the file again, as binary");
  }
}

TEST(FileKind, every_real_file_is_a_jpeg) {
  for (const std::string& path : mini_files()) {
    EXPECT_EQ(file_kind(read_file(path)).format, ImageFormat::jpeg);
  }
}

TEST(FileKind, the_decoders_say_it) {
  const File page = bytes_of("<html><body>no such file</body></html>");
  for (const char* type : {"jpeg", "turbojpeg", "auto"}) {
    EXPECT_EQ(reason_of(std::string("{type: ") + type + "}", page),
              "not_an_image: it is an HTML page that begins '<html><body>no such "
              "file</body></html>': get the file again");
  }
  EXPECT_EQ(
      reason_of("{type: raw}", bytes_of("\x89PNG\r\n\x1a\n"sv)),
      "unsupported: it is a PNG image, and raw takes stored pixels: set decoder.type=auto, or "
      "let dataset.type=decoded decode it");
}

// Sizes that are not looked for behind the end of the file, nor believed.
TEST(ImageHeader, numbers_of_the_file_lead_nowhere) {
  const File strips = tiff({273, 0xffffffff, {8, 0, 0, 0}}, false);
  const auto read = [](const File& file) {
    const File exact(file);
    try {
      const ImageHeader header = read_image_header(exact);
      EXPECT_GE(std::min(header.width, header.height), 1);
    } catch (const BadSample&) {
    }
  };
  read(strips);
  read(bytes_of("P6 99999999999999999999 99999999999999999999 65535\n"));
  read(bytes_of("P5 2147483647 2147483647 65535\n"));
  read(bytes_of("P6 #"));
  File bitmap = bytes_of("BM", 54);
  std::fill(bitmap.begin() + 10, bitmap.begin() + 30, 0xff);
  read(bitmap);
  bitmap[21] = bitmap[25] = 0x7f;
  bitmap[28] = 32;
  bitmap[29] = 0;
  read(bitmap);
}

}  // namespace
}  // namespace stoker

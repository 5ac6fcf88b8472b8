#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <fstream>

#include "tests/profiler/wrap/attached.h"
#include "tests/support/temporary_directory.h"

extern "C" {
int __fprintf_chk(FILE*, int, const char*, ...);
int __vfprintf_chk(FILE*, int, const char*, va_list);
size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
char* __fgets_chk(char*, size_t, int, FILE*);
}

namespace stoker {
namespace {

using testing::ElementsAre;

class StreamCalls : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a";
  std::array<char, 64> data_{};
  // Opened before, and closed after what is looked at.
  FILE* stream_ = std::fopen(path_.c_str(), "w+");
  ~StreamCalls() override {
    if (stream_ != nullptr) std::fclose(stream_);
  }
  void fill(const char* text) {
    std::fputs(text, stream_);
    std::rewind(stream_);
  }
};

TEST_F(StreamCalls, that_open_and_close_are_told) {
  const std::string other = directory_ / "b";
  const auto lines = told_of([&] {
    FILE* stream = fopen(path_.c_str(), "r");
    stream = freopen(other.c_str(), "w", stream);
    fclose(stream);
    stream = fopen64(path_.c_str(), "r");
    FILE* const again = fdopen(dup(fileno(stream)), "r");
    fflush(again);
    fclose(again);
    fclose(stream);
    EXPECT_EQ(fopen((other + "/no").c_str(), "r"), nullptr);
  });
  EXPECT_THAT(lines,
              ElementsAre("stream opened " + path_, "stream opened " + other, "stream closed",
                          "stream opened " + path_, "stream asked", "duplicated", "stream opened",
                          "stream flushed", "stream closed", "stream closed"));
}

TEST_F(StreamCalls, that_write_tell_bytes) {
  const auto lines = told_of([&] {
    fwrite("abcdef", 2, 3, stream_);
    fwrite("abcdef", 2, 0, stream_);
    fputs("abc", stream_);
    fputc('x', stream_);
    putc('x', stream_);
    putw(1, stream_);
    fwrite_unlocked("ab", 1, 2, stream_);
  });
  EXPECT_THAT(lines, ElementsAre("stream wrote 6", "stream wrote 3", "stream wrote 1",
                                 "stream wrote 1", "stream wrote 4", "stream wrote 2"));
}

TEST_F(StreamCalls, that_read_tell_bytes) {
  fill("0123456789\nabc\ndefgh\nijklmnopq\n");
  const auto lines = told_of([&] {
    fread(data_.data(), 3, 2, stream_);
    __fread_chk(data_.data(), data_.size(), 1, 2, stream_);
    fgets(data_.data(), 64, stream_);
    __fgets_chk(data_.data(), data_.size(), 64, stream_);
    fgetc(stream_);
    getc(stream_);
    char* line = nullptr;
    size_t size = 0;
    getline(&line, &size, stream_);
    getdelim(&line, &size, 'k', stream_);
    std::free(line);
    getw(stream_);
    fread(data_.data(), 1, 64, stream_);
    fread(data_.data(), 1, 64, stream_);
    fgetc(stream_);
  });
  EXPECT_THAT(lines, ElementsAre("stream read 6", "stream read 2", "stream read 3", "stream read 4",
                                 "stream read 1", "stream read 1", "stream read 4", "stream read 3",
                                 "stream read 4", "stream read 3"));
}

TEST_F(StreamCalls, that_seek_tell_where_they_got) {
  fill("0123456789");
  const auto lines = told_of([&] {
    fseek(stream_, 4, SEEK_SET);
    fseeko(stream_, -1, SEEK_END);
    fseeko64(stream_, 1, SEEK_CUR);
    fpos_t place{};
    fgetpos(stream_, &place);
    rewind(stream_);
    fsetpos(stream_, &place);
  });
  EXPECT_THAT(lines, ElementsAre("stream seeked 4", "stream seeked 9", "stream seeked 10",
                                 "stream seeked 0", "stream seeked 10"));
}

int print_list(FILE* stream, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = vfprintf(stream, format, list);
  va_end(list);
  return result;
}

int print_fortified_list(FILE* stream, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = __vfprintf_chk(stream, 1, format, list);
  va_end(list);
  return result;
}

TEST_F(StreamCalls, with_a_format_write_what_was_asked) {
  const auto lines = told_of([&] {
    fprintf(stream_, "%d %s %.2f %lld|", 1, "two", 3.0, 4LL);
    __fprintf_chk(stream_, 1, "%d %s %.2f %d %d %d %d|", 1, "two", 3.0, 4, 5, 6, 7);
    print_list(stream_, "%s|", "list");
    print_fortified_list(stream_, "%s|", "list");
  });
  EXPECT_THAT(
      lines, ElementsAre("stream wrote 13", "stream wrote 19", "stream wrote 5", "stream wrote 5"));
  std::fflush(stream_);
  EXPECT_EQ(directory_.read("a"), "1 two 3.00 4|1 two 3.00 4 5 6 7|list|list|");
}

TEST_F(StreamCalls, with_a_format_read_what_was_asked) {
  fill("12 word rest");
  int number = 0;
  const auto lines = told_of([&] {
    fscanf(stream_, "%d %9s", &number, data_.data());
    fscanf(stream_, "%d", &number);
  });
  EXPECT_EQ(number, 12);
  EXPECT_STREQ(data_.data(), "word");
  EXPECT_THAT(lines, ElementsAre("stream read 7"));
}

TEST_F(StreamCalls, of_the_library_of_c_plus_plus_are_seen) {
  const auto lines = told_of([&] {
    std::ofstream file(directory_ / "c");
    file << "text";
  });
  EXPECT_THAT(lines, testing::Contains("stream opened " + (directory_ / "c")));
  EXPECT_THAT(lines, testing::Contains(testing::StartsWith("wrote")));
}

}  // namespace
}  // namespace stoker

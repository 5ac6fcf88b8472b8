#include <sys/types.h>

#include <cstdio>
#include <cstring>

#include "io/profiler/wrap/wrapped_functions.h"
#include "io/profiler/wrap/wrapper.h"

// Calls that move bytes by a stream, without a format. Calls that moved nothing are not told.

namespace stoker {
namespace {

// NOLINTBEGIN(readability-function-size): a rule has the arguments of its function.

struct ReadItems {
  static void tell(size_t result, CallTime time, void*, size_t size, size_t, FILE* stream) {
    if (result > 0) recorder().stream_read(stream, static_cast<int64_t>(result * size), time);
  }
};

struct FortifiedReadItems {
  static void tell(size_t result, CallTime time, void*, size_t, size_t size, size_t, FILE* stream) {
    if (result > 0) recorder().stream_read(stream, static_cast<int64_t>(result * size), time);
  }
};

struct WriteItems {
  static void tell(size_t result, CallTime time, const void*, size_t size, size_t, FILE* stream) {
    if (result > 0) recorder().stream_wrote(stream, static_cast<int64_t>(result * size), time);
  }
};

void tell_text_read(const char* text, CallTime time, FILE* stream) {
  if (text != nullptr) {
    recorder().stream_read(stream, static_cast<int64_t>(std::strlen(text)), time);
  }
}

struct ReadText {
  static void tell(char* result, CallTime time, char*, int, FILE* stream) {
    tell_text_read(result, time, stream);
  }
};

struct FortifiedReadText {
  static void tell(char* result, CallTime time, char*, size_t, int, FILE* stream) {
    tell_text_read(result, time, stream);
  }
};

struct WriteText {
  static void tell(int result, CallTime time, const char* text, FILE* stream) {
    if (result != EOF) {
      recorder().stream_wrote(stream, static_cast<int64_t>(std::strlen(text)), time);
    }
  }
};

struct WriteLine {
  static void tell(int result, CallTime time, const char* text) {
    if (result != EOF) {
      recorder().stream_wrote(stdout, static_cast<int64_t>(std::strlen(text)) + 1, time);
    }
  }
};

struct ReadCharacter {
  static void tell(int result, CallTime time, FILE* stream) {
    if (result != EOF) recorder().stream_read(stream, 1, time);
  }
};

struct ReadCharacterOfStdin {
  static void tell(int result, CallTime time) {
    if (result != EOF) recorder().stream_read(stdin, 1, time);
  }
};

struct WriteCharacter {
  static void tell(int result, CallTime time, int, FILE* stream) {
    if (result != EOF) recorder().stream_wrote(stream, 1, time);
  }
};

struct WriteCharacterToStdout {
  static void tell(int result, CallTime time, int) {
    if (result != EOF) recorder().stream_wrote(stdout, 1, time);
  }
};

// A word that is EOF is told as well, where no error and no end says otherwise.
struct ReadWord {
  static void tell(int result, CallTime time, FILE* stream) {
    if (result == EOF && (std::feof(stream) != 0 || std::ferror(stream) != 0)) return;
    recorder().stream_read(stream, sizeof(int), time);
  }
};

struct WriteWord {
  static void tell(int result, CallTime time, int, FILE* stream) {
    if (result != EOF) recorder().stream_wrote(stream, sizeof(int), time);
  }
};

struct ReadLine {
  static void tell(ssize_t result, CallTime time, char**, size_t*, FILE* stream) {
    if (result > 0) recorder().stream_read(stream, result, time);
  }
};

struct ReadToDelimiter {
  static void tell(ssize_t result, CallTime time, char**, size_t*, int, FILE* stream) {
    if (result > 0) recorder().stream_read(stream, result, time);
  }
};

using ReadItemsType = size_t(void*, size_t, size_t, FILE*);
using FortifiedReadItemsType = size_t(void*, size_t, size_t, size_t, FILE*);
using WriteItemsType = size_t(const void*, size_t, size_t, FILE*);
using ReadTextType = char*(char*, int, FILE*);
using FortifiedReadTextType = char*(char*, size_t, int, FILE*);
using WriteTextType = int(const char*, FILE*);
using DelimiterType = ssize_t(char**, size_t*, int, FILE*);

void add_character_calls(WrappedFunctions& functions) {
  for (const WrappedFunction& function : {
           Wrapper<"fgetc", ReadCharacter, int(FILE*)>::function(),
           Wrapper<"getc", ReadCharacter, int(FILE*)>::function(),
           Wrapper<"_IO_getc", ReadCharacter, int(FILE*)>::function(),
           Wrapper<"fgetc_unlocked", ReadCharacter, int(FILE*)>::function(),
           Wrapper<"getc_unlocked", ReadCharacter, int(FILE*)>::function(),
           Wrapper<"getchar", ReadCharacterOfStdin, int()>::function(),
           Wrapper<"getchar_unlocked", ReadCharacterOfStdin, int()>::function(),
           Wrapper<"fputc", WriteCharacter, int(int, FILE*)>::function(),
           Wrapper<"putc", WriteCharacter, int(int, FILE*)>::function(),
           Wrapper<"_IO_putc", WriteCharacter, int(int, FILE*)>::function(),
           Wrapper<"fputc_unlocked", WriteCharacter, int(int, FILE*)>::function(),
           Wrapper<"putc_unlocked", WriteCharacter, int(int, FILE*)>::function(),
           Wrapper<"putchar", WriteCharacterToStdout, int(int)>::function(),
           Wrapper<"putchar_unlocked", WriteCharacterToStdout, int(int)>::function(),
       }) {
    functions.push_back(function);
  }
}

// NOLINTEND(readability-function-size)

}  // namespace

void add_stream_transfer_calls(WrappedFunctions& functions) {
  add_character_calls(functions);
  for (const WrappedFunction& function : {
           Wrapper<"fread", ReadItems, ReadItemsType>::function(),
           Wrapper<"fread_unlocked", ReadItems, ReadItemsType>::function(),
           Wrapper<"__fread_chk", FortifiedReadItems, FortifiedReadItemsType>::function(),
           Wrapper<"__fread_unlocked_chk", FortifiedReadItems, FortifiedReadItemsType>::function(),
           Wrapper<"fwrite", WriteItems, WriteItemsType>::function(),
           Wrapper<"fwrite_unlocked", WriteItems, WriteItemsType>::function(),
           Wrapper<"fgets", ReadText, ReadTextType>::function(),
           Wrapper<"fgets_unlocked", ReadText, ReadTextType>::function(),
           Wrapper<"__fgets_chk", FortifiedReadText, FortifiedReadTextType>::function(),
           Wrapper<"__fgets_unlocked_chk", FortifiedReadText, FortifiedReadTextType>::function(),
           Wrapper<"fputs", WriteText, WriteTextType>::function(),
           Wrapper<"fputs_unlocked", WriteText, WriteTextType>::function(),
           Wrapper<"puts", WriteLine, int(const char*)>::function(),
           Wrapper<"getw", ReadWord, int(FILE*)>::function(),
           Wrapper<"putw", WriteWord, int(int, FILE*)>::function(),
           Wrapper<"getline", ReadLine, ssize_t(char**, size_t*, FILE*)>::function(),
           Wrapper<"getdelim", ReadToDelimiter, DelimiterType>::function(),
           Wrapper<"__getdelim", ReadToDelimiter, DelimiterType>::function(),
       }) {
    functions.push_back(function);
  }
}

}  // namespace stoker

#include <cstdarg>
#include <cstdio>

#include "io/profiler/wrap/wrapped_functions.h"
#include "io/profiler/wrap/wrapper.h"

// printf, scanf and their like. The arguments of a variadic function cannot be passed on, so its
// wrapper calls the function's sister that takes a va_list, function_below(): the preload's or
// the sanitizer's, where there is one.

namespace stoker {
namespace {

void tell_printed(int result, CallTime time, FILE* stream) {
  if (result > 0) recorder().stream_wrote(stream, result, time);
}

// Where scanf stands says how much it read; -1 where a stream has no places.
int64_t stream_position(FILE* stream) {
  const int error = errno;
  const int64_t position = ftello(stream);
  errno = error;
  return position;
}

void tell_scanned(int result, CallTime time, FILE* stream, int64_t before) {
  if (result > 0) recorder().stream_read(stream, stream_position(stream) - before, time);
}

template <class Call>
int print_to(FILE* stream, const Call& call) {
  if (!counts_here()) return call();
  const int64_t begin_ns = call_clock_ns();
  const int result = call();
  const CallTime time{begin_ns, call_clock_ns()};
  const int error = errno;
  tell_printed(result, time, stream);
  errno = error;
  return result;
}

template <class Call>
int scan_from(FILE* stream, const Call& call) {
  if (!counts_here()) return call();
  const int64_t before = stream_position(stream);
  const int64_t begin_ns = call_clock_ns();
  const int result = call();
  const CallTime time{begin_ns, call_clock_ns()};
  const int error = errno;
  tell_scanned(result, time, stream, before);
  errno = error;
  return result;
}

// kName's sister kSister, of the given type.
template <FunctionName kName, FunctionName kSister, class Type>
class VariadicFunction {
 public:
  static WrappedFunction function(void* wrapper) {
    static std::array<WrapperInstance, kOriginals> instances;
    // One wrapper for all originals, which it does not call; the slots are told apart by name.
    instances[0].wrapper = wrapper;
    sister_ = reinterpret_cast<Type>(function_below(kSister.text));
    return {kName.text, {instances.data(), 1}};
  }
  static Type sister() { return sister_; }

 private:
  static constinit inline Type sister_ = nullptr;
};

using PrintType = int (*)(FILE*, const char*, va_list);
using FortifiedPrintType = int (*)(FILE*, int, const char*, va_list);

using Fprintf = VariadicFunction<"fprintf", "vfprintf", PrintType>;
using Printf = VariadicFunction<"printf", "vfprintf", PrintType>;
using FprintfChk = VariadicFunction<"__fprintf_chk", "__vfprintf_chk", FortifiedPrintType>;
using PrintfChk = VariadicFunction<"__printf_chk", "__vfprintf_chk", FortifiedPrintType>;
using Fscanf = VariadicFunction<"fscanf", "vfscanf", PrintType>;
using Scanf = VariadicFunction<"scanf", "vfscanf", PrintType>;
using Isoc99Fscanf = VariadicFunction<"__isoc99_fscanf", "__isoc99_vfscanf", PrintType>;
using Isoc99Scanf = VariadicFunction<"__isoc99_scanf", "__isoc99_vfscanf", PrintType>;
// What a C++ compiler makes of scanf since glibc 2.38.
using Isoc23Fscanf = VariadicFunction<"__isoc23_fscanf", "__isoc23_vfscanf", PrintType>;
using Isoc23Scanf = VariadicFunction<"__isoc23_scanf", "__isoc23_vfscanf", PrintType>;

// A list that ends with the scope, also where a cancelled thread leaves it.
struct ArgumentList {
  va_list list;
  ~ArgumentList() { va_end(list); }
};

int print(FILE* stream, const char* format, ...) {
  ArgumentList arguments;
  va_start(arguments.list, format);
  return print_to(stream, [&] { return Fprintf::sister()(stream, format, arguments.list); });
}

int print_out(const char* format, ...) {
  ArgumentList arguments;
  va_start(arguments.list, format);
  return print_to(stdout, [&] { return Printf::sister()(stdout, format, arguments.list); });
}

int fortified_print(FILE* stream, int flag, const char* format, ...) {
  ArgumentList arguments;
  va_start(arguments.list, format);
  return print_to(stream,
                  [&] { return FprintfChk::sister()(stream, flag, format, arguments.list); });
}

int fortified_print_out(int flag, const char* format, ...) {
  ArgumentList arguments;
  va_start(arguments.list, format);
  return print_to(stdout,
                  [&] { return PrintfChk::sister()(stdout, flag, format, arguments.list); });
}

template <class Function>
int scan(FILE* stream, const char* format, ...) {
  ArgumentList arguments;
  va_start(arguments.list, format);
  return scan_from(stream, [&] { return Function::sister()(stream, format, arguments.list); });
}

template <class Function>
int scan_in(const char* format, ...) {
  ArgumentList arguments;
  va_start(arguments.list, format);
  return scan_from(stdin, [&] { return Function::sister()(stdin, format, arguments.list); });
}

// --- those that take a va_list: ordinary wrappers

struct PrintList {
  static void tell(int result, CallTime time, FILE* stream, const char*, va_list) {
    tell_printed(result, time, stream);
  }
};

struct PrintListOut {
  static void tell(int result, CallTime time, const char*, va_list) {
    tell_printed(result, time, stdout);
  }
};

struct FortifiedPrintList {
  static void tell(int result, CallTime time, FILE* stream, int, const char*, va_list) {
    tell_printed(result, time, stream);
  }
};

struct FortifiedPrintListOut {
  static void tell(int result, CallTime time, int, const char*, va_list) {
    tell_printed(result, time, stdout);
  }
};

struct ScanList {
  static int64_t before(FILE* stream, const char*, va_list) { return stream_position(stream); }
  static void tell(int result, CallTime time, FILE* stream, const char*, va_list, int64_t at) {
    tell_scanned(result, time, stream, at);
  }
};

struct ScanListIn {
  static int64_t before(const char*, va_list) { return stream_position(stdin); }
  static void tell(int result, CallTime time, const char*, va_list, int64_t at) {
    tell_scanned(result, time, stdin, at);
  }
};

using ListType = int(FILE*, const char*, va_list);
using ListStdType = int(const char*, va_list);
using FortifiedListType = int(FILE*, int, const char*, va_list);
using FortifiedListOutType = int(int, const char*, va_list);

template <class Function>
void* address_of(Function function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void add_formatted_calls(WrappedFunctions& functions) {
  for (const WrappedFunction& function : {
           Fprintf::function(address_of(&print)),
           Printf::function(address_of(&print_out)),
           FprintfChk::function(address_of(&fortified_print)),
           PrintfChk::function(address_of(&fortified_print_out)),
           Fscanf::function(address_of(&scan<Fscanf>)),
           Scanf::function(address_of(&scan_in<Scanf>)),
           Isoc99Fscanf::function(address_of(&scan<Isoc99Fscanf>)),
           Isoc99Scanf::function(address_of(&scan_in<Isoc99Scanf>)),
           Isoc23Fscanf::function(address_of(&scan<Isoc23Fscanf>)),
           Isoc23Scanf::function(address_of(&scan_in<Isoc23Scanf>)),
           Wrapper<"vfprintf", PrintList, ListType>::function(),
           Wrapper<"vprintf", PrintListOut, ListStdType>::function(),
           Wrapper<"__vfprintf_chk", FortifiedPrintList, FortifiedListType>::function(),
           Wrapper<"__vprintf_chk", FortifiedPrintListOut, FortifiedListOutType>::function(),
           Wrapper<"vfscanf", ScanList, ListType>::function(),
           Wrapper<"vscanf", ScanListIn, ListStdType>::function(),
           Wrapper<"__isoc99_vfscanf", ScanList, ListType>::function(),
           Wrapper<"__isoc99_vscanf", ScanListIn, ListStdType>::function(),
           Wrapper<"__isoc23_vfscanf", ScanList, ListType>::function(),
           Wrapper<"__isoc23_vscanf", ScanListIn, ListStdType>::function(),
       }) {
    functions.push_back(function);
  }
}

}  // namespace stoker

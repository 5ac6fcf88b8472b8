#pragma once

#include <span>
#include <vector>

#include "io/profiler/attach/wrapped_function.h"

namespace stoker {

// All functions whose calls the profiler sees; README.md lists them. For Attachment::attach(). Any
// thread; it lives for ever.
std::span<const WrappedFunction> wrapped_functions();

// The switch: whether calls of wrapped functions reach the recorder, which is started before. On:
// names the files that are open, from /proc/self/fd. The slots stay as they are. Off at the begin,
// and in the child of a fork. One thread at a time.
void count_calls(bool on);

// The functions by their subject, each in the file of that name.
using WrappedFunctions = std::vector<WrappedFunction>;
void add_descriptor_calls(WrappedFunctions& functions);
void add_transfer_calls(WrappedFunctions& functions);
void add_file_calls(WrappedFunctions& functions);
void add_stream_calls(WrappedFunctions& functions);
void add_stream_transfer_calls(WrappedFunctions& functions);
void add_formatted_calls(WrappedFunctions& functions);
void add_uring_calls(WrappedFunctions& functions);
void add_aio_calls(WrappedFunctions& functions);

}  // namespace stoker

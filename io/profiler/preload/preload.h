#pragma once

#include <cstddef>

#include "io/profiler/attach/wrapped_function.h"

namespace stoker {

// Whether this process is counted: its log is there. Any thread.
bool preload_counts();
// Makes the log of a process whose environment, or `folder`, names one; once. Nothing where there
// is none: then every function is libc's own. Any thread.
void begin_preload(const char* folder);
// The process ends, or becomes another executable: stamps its log. `false`: it has not (exec has
// failed). Not in the child of a vfork. Any thread.
void stamp_end(bool ends);

// Where the name of an export leads: to its wrapper, or to the function itself where nobody counts.
// Its slot has it from then on. For the exports (exports.cpp), with the slot's number.
extern "C" void* stoker_resolve(size_t export_number);
// How many exports there are, and their names and slots. Defined with them.
extern const size_t kExports;
extern const char* const kExportNames[];
extern "C" void* stoker_slots[];

}  // namespace stoker

// For a process into which the library is loaded while it runs. Counts from now on, into a log in
// `folder`; every function has an instance, whose `callee` is set, so that whoever replaces slots
// may put its `wrapper` there. Returns 0, or -1 where there is no such folder or no room. Any
// thread; a second call does nothing.
extern "C" __attribute__((visibility("default"))) int stoker_preload_attach(const char* folder);
// The functions, and how many: *count. Valid for ever.
extern "C" __attribute__((visibility("default"))) const stoker::WrappedFunction*
stoker_preload_functions(size_t* count);

#include "io/profiler/own_io.h"

#include "io/profiler/wrap/counting.h"

namespace stoker {

constinit thread_local int own_io_depth = 0;

OwnIo::OwnIo() { ++own_io_depth; }
OwnIo::~OwnIo() { --own_io_depth; }

}  // namespace stoker

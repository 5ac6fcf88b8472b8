#pragma once

#include "io/dataset/hdf5/program/handle.h"
#include "io/dataset/hdf5/program/parent.h"

namespace stoker {

// How libhdf5 opens what the parent reads, whatever the name: an access list for H5Fopen() with a
// driver of our own, for reading alone. The parent must outlive it and the file.
Hdf5Handle parent_access(Hdf5Parent& parent);

}  // namespace stoker

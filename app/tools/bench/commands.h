#pragma once

#include "app/base/command_line.h"

namespace stoker {

// Parts of `stoker bench`: each declares one command below it.
void add_bench_lmdb(const Command& bench);
void add_bench_load(const Command& bench);
void add_bench_storage(const Command& bench);

}  // namespace stoker

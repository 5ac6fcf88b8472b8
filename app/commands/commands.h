#pragma once

#include "app/base/command_line.h"

// The commands of the program. Arguments only: none of these files knows how a command does what it
// does, and none includes another's header.

namespace stoker {

// Each declares one command, with its arguments, below `program` ("bench", "dataset": with those
// below it). What a command does is a function of the room that it belongs to; it gets the struct
// that the arguments were read into. A file holds the commands of one room.
void add_train(const Command& program);
void add_launch(const Command& program);
void add_check(const Command& program);
void add_list(const Command& program);
void add_describe(const Command& program);
void add_dataset(const Command& program);
void add_bench(const Command& program);
// Parts of add_bench().
void add_bench_checkpoint(const Command& bench);
void add_bench_storage(const Command& bench);
void add_checkpoint(const Command& program);
void add_mount(const Command& program);
void add_sweep(const Command& program);
void add_headspace(const Command& program);
void add_report(const Command& program);
void add_compare(const Command& program);
void add_environment(const Command& program);
void add_healthcheck(const Command& program);
void add_doctor(const Command& program);
void add_advise(const Command& program);
void add_simulate(const Command& program);
void add_timelogger(const Command& program);
void add_trace(const Command& program);
void add_darshan(const Command& program);

}  // namespace stoker

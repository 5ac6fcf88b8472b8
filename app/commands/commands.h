#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/core/error.h"

namespace CLI {
class App;
}

namespace stoker {

// Each adds one sub-command, whose callback does the work and sets `result`. Errors leave it as
// exceptions. The reference must outlive the parsing of the command line.
void add_train(CLI::App& app, ExitCode& result);
void add_check(CLI::App& app, ExitCode& result);
void add_list(CLI::App& app, ExitCode& result);
void add_describe(CLI::App& app, ExitCode& result);
void add_dataset(CLI::App& app, ExitCode& result);
void add_dataset_pack(CLI::App& dataset, ExitCode& result);   // below `dataset`
void add_dataset_stage(CLI::App& dataset, ExitCode& result);  // below `dataset`
void add_bench(CLI::App& app, ExitCode& result);
void add_bench_loader(CLI::App& bench, ExitCode& result);   // below `bench`
void add_bench_read(CLI::App& bench, ExitCode& result);     // below `bench`
void add_bench_storage(CLI::App& bench, ExitCode& result);  // below `bench`
void add_bench_train(CLI::App& bench, ExitCode& result);    // below `bench`
void add_checkpoint(CLI::App& app, ExitCode& result);
void add_sweep(CLI::App& app, ExitCode& result);
void add_headspace(CLI::App& app, ExitCode& result);
void add_report(CLI::App& app, ExitCode& result);
void add_compare(CLI::App& app, ExitCode& result);
void add_healthcheck(CLI::App& app, ExitCode& result);
void add_doctor(CLI::App& app, ExitCode& result);
void add_timelogger(CLI::App& app, ExitCode& result);
void add_trace(CLI::App& app, ExitCode& result);

// CONFIG [a.b=c ...], as `train`, `check` and the benchmarks take it.
struct ConfigArguments {
  std::string config;
  std::vector<std::string> overrides;
};
void add_config_arguments(CLI::App& command, ConfigArguments& arguments);

// Bytes, written as in YAML: 512KiB, 1m. Error(ExitCode::config), naming the option, for anything
// else and for 0.
uint64_t parse_bytes(const std::string& option, const std::string& text);

}  // namespace stoker

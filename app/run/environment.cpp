#include "app/run/environment.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/base/result_table.h"
#include "app/process/machine.h"
#include "app/process/version.h"
#include "app/run/optional_parts.h"
#include "io/device/cuda_library.h"

namespace stoker {
namespace {

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

nlohmann::json describe_environment(const DeviceInfo& device, const std::string& run_dir,
                                    int64_t threads) {
  nlohmann::json out = describe_machine(run_dir);
  out["schema_version"] = 1;
  out["device"] = {{"name", device.name},
                   {"emulated", device.emulated},
                   {"timing_method", device.timing_method}};
  out["threads"] = threads;
  out["command"] = command_line();
  return out;
}

ExitCode print_environment(const EnvironmentArguments& arguments) {
  nlohmann::json out = describe_machine(".");
  ResultTable machine;
  machine.put({"", "program"}, version_line());
  machine.put({"", "system"},
              out["system"].get<std::string>() + ", " + out["kernel"].get<std::string>());
  machine.put({"", "host"}, out["host"].get<std::string>());
  machine.put({"", "cpu"}, out["cpu"]["model"].get<std::string>());
  machine.put({"", "usable cores"}, out["cpu"]["cores"].get<int64_t>());
  machine.put({"", "memory, GiB", 1}, out["memory_bytes"].get<double>() / (1 << 30));
  machine.put({"", "file system"}, out["file_system"].get<std::string>());
  ResultTable parts({{"name", "part"}, {"works", "works"}, {"detail", "what, or why not"}});
  for (const OptionalPart& part : optional_parts()) parts.add({part.name, part.works, part.detail});
  out["gpus"] = cuda_devices();
  for (const nlohmann::json& gpu : out["gpus"]) machine.put({"", "gpu"}, gpu.get<std::string>());
  out["parts"] = parts.json();
  return print_result(arguments.json, out, machine.record_text(0) + "\n" + parts.text(), 2);
}

}  // namespace stoker

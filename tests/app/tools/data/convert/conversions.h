#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/tools/data/convert/convert.h"
#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/datasets.h"
#include "tests/support/fakes.h"

namespace stoker {

inline std::unique_ptr<Decoder> test_decoder(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test.yaml");
  return parse_component<Decoder>(node).create({});
}

inline ConvertOptions conversion(const std::string& format, uint64_t shard_bytes) {
  ConvertOptions options;
  options.format = default_component<ShardFormatWriter>(format);
  options.plan.shard_bytes = shard_bytes;
  options.threads = 3;
  return options;
}

// Digests of all batches that a loader makes of a split.
inline std::vector<std::string> digests(const Dataset& dataset, const std::string& decoder_yaml,
                                        const std::string& loader, Split split, Shard shard = {},
                                        int64_t epochs = 2) {
  FakeDevice device;
  Tracer tracer;
  LoaderMeter meter{"train", tracer};
  const auto pixels = test_decoder(decoder_yaml);
  const Node node =
      parse_yaml("{type: " + loader + ", batch_size: 7, workers: 3, digest: true}", "test.yaml");
  const auto batches = parse_component<Loader>(node).create(
      {dataset, *pixels, device.allocator(), split, 5, {}, meter, shard, &device});
  std::vector<std::string> result;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    batches->start(epoch, 0);
    while (const auto batch = batches->next()) result.push_back(batch->digests);
  }
  return result;
}

// All objects below a prefix.
inline std::map<std::string, std::string> contents(const Storage& tier,
                                                   const std::string& prefix = "") {
  std::map<std::string, std::string> objects;
  for (const ObjectInfo& object : tier.list(prefix)) {
    if (!object.key.ends_with('/'))
      objects[object.key.substr(prefix.size())] = get(tier, object.key);
  }
  return objects;
}

}  // namespace stoker

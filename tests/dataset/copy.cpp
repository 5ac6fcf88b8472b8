#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "io/dataset/dataset.h"
#include "io/dataset/shards/shard_writer.h"

// dataset_copy ROOT DATASET FORMAT OBJECT: writes the training samples of a data set, {type: ...,
// storage: data}, into one object of a format, for those who look at it with other libraries. The
// tier `data` is the directory ROOT.

namespace stoker {
namespace {

void copy(const std::string& root, const std::string& dataset, const std::string& format,
          const std::string& object) {
  Tiers tiers;
  tiers.add(
      "data",
      parse_component<Storage>(parse_yaml("{type: posix, root: " + root + "}", "tier")).create({}));
  const auto data = parse_component<Dataset>(parse_yaml(dataset, "dataset")).create({tiers, 1, {}});
  const auto writer =
      parse_component<ShardFormatWriter>(parse_yaml("{type: " + format + "}", "format"))
          .create({data->classes()});
  const auto shard = writer->create(tiers.at("data"), object);
  Buffer scratch;
  for (int64_t i = 0; i < data->size(Split::train); ++i) {
    const std::string key = data->info(Split::train, i).key;
    const EncodedSample sample = data->read(Split::train, i, scratch);
    shard->add({key, sample.label, sample.bytes});
  }
  shard->commit();
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    stoker::copy(argv[1], argv[2], argv[3], argv[4]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

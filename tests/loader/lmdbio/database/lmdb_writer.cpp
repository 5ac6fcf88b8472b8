#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "io/dataset/shards/shard_writer.h"
#include "tests/support/storages.h"

// lmdb_writer FOLDER FILE...: the files as samples of FOLDER/train/data.mdb, with labels 0, 1...
int main(int count, char** arguments) {
  using namespace stoker;
  try {
    const std::unique_ptr<Storage> tier = posix_storage(arguments[1]);
    const std::vector<std::string> classes;
    const auto writer = default_component<ShardFormatWriter>("lmdb").create({classes})->create(
        *tier, "train/data.mdb");
    for (int i = 2; i < count; ++i) {
      std::ifstream file(arguments[i], std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      writer->add({std::filesystem::path(arguments[i]).filename().string(),
                   i - 2,
                   {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}});
    }
    writer->commit();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}

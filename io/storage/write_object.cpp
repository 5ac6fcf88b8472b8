#include "io/storage/write_object.h"

namespace stoker {

void write_object(Storage& to, const std::string& key, Bytes bytes) {
  const std::unique_ptr<ObjectWriter> writer = to.create(key);
  writer->append(bytes);
  writer->commit();
}

}  // namespace stoker

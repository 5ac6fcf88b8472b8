#include "app/experiment/data_tier.h"

namespace stoker {

std::string data_tier(const Node& dataset) {
  if (const Node* storage = dataset.find("storage")) return storage->scalar;
  const Node* inner = dataset.find("inner");
  return inner == nullptr ? "" : data_tier(*inner);
}

}  // namespace stoker

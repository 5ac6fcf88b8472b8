#include "app/tools/checkpoint/files/state_pickle.h"
#include "tests/fuzz/target.h"

// data.pkl of a file of torch.save.
STOKER_FUZZ_TARGET(state_pickle) {
  using namespace stoker;
  const PickledState state = read_state_pickle(fuzz::text(input));
  for (const PickledTensor& tensor : state.tensors) {
    fuzz::require(dtype_bytes(tensor.dtype) > 0, "a tensor of no type");
    fuzz::require(tensor.shape.size() == tensor.strides.size(), "shape and strides differ");
    fuzz::require(!tensor.name.empty(), "a tensor without a name");
  }
}

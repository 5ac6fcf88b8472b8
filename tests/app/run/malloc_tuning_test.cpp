#include <ATen/Functions.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <memory>

#include "app/run/environment.h"

namespace stoker {
namespace {

constexpr size_t kBytes = 64u << 20;

// Page faults of a large block that is written and freed, as a step's gradients are.
int64_t faults_of_a_block() {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  {
    const std::unique_ptr<char[]> block(new char[kBytes]);
    std::memset(block.get(), 1, kBytes);
    // Else the compiler may leave out a block that nobody reads.
    const volatile char last = block[kBytes - 1];
    EXPECT_EQ(last, 1);
  }
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST(FreedMemory, is_given_out_again_without_a_page_fault) {
  faults_of_a_block();
  const int64_t before = faults_of_a_block();
  keep_freed_heap();
  faults_of_a_block();
  const int64_t after = faults_of_a_block();
  EXPECT_GT(before, 0);
  EXPECT_LT(after, 4);
}

TEST(FreedMemory, of_tensors_is_aligned_whatever_their_size) {
  reuse_freed_tensors();
  for (const int64_t size : {0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 1000, 1'000'000}) {
    const at::Tensor tensor = at::ones({size}, at::kFloat);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 64, 0u) << size;
    EXPECT_EQ(tensor.sum().item<float>(), static_cast<float>(size));
  }
  void* const raw = c10::GetCPUAllocator()->raw_allocate(100);
  c10::GetCPUAllocator()->raw_deallocate(raw);
}

}  // namespace
}  // namespace stoker

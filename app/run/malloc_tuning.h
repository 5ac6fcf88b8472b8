#pragma once

namespace stoker {

// What becomes of memory that is freed, for the rest of the process. Any thread; before the large
// allocations.

// Lets the C library keep what is freed: a step on the CPU frees its gradients and activations
// (AlexNet, 32 images: some 300 MB), and the next one would get them from the kernel again, zeroed,
// with a fault for every page. The process then keeps the memory of its largest step. Does nothing
// without glibc.
void keep_freed_heap();

// Lets LibTorch take the memory of tensors on the CPU by malloc. By posix_memalign, which it calls
// otherwise, glibc before 2.38 hardly ever gives out again what was freed: a small run with an
// evaluation after every fifth step grew by 0.2 MB with each of them.
void reuse_freed_tensors();

}  // namespace stoker

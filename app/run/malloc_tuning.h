#pragma once

namespace stoker {

// Lets the C library keep what is freed, for the rest of the process: a step on the CPU frees its
// gradients and activations (AlexNet, 32 images: some 300 MB), and the next one would get them from
// the kernel again, zeroed, with a fault for every page. Any thread; before the large allocations.
// The process then keeps the memory of its largest step. Does nothing without glibc.
void keep_freed_heap();

}  // namespace stoker

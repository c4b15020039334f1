// How a test makes memory of the host run out: the n-th `new` of this thread throws std::bad_alloc.
// Link host_memory.cc into the test program; it replaces operator new.
#ifndef TIMCL_TESTS_LAYERS_HOST_MEMORY_H_
#define TIMCL_TESTS_LAYERS_HOST_MEMORY_H_

namespace timcl_host_memory {

/// From now on allocation number n (0 = the next one) of this thread fails, once; -1 disarms. Only
/// those that the program's own code asks for: drivers built without exceptions could not go on.
void Arm(int n);
/// The same, and all that follow fail as well.
void ArmForGood(int n);
/// The failures since it was armed.
int Hits();

}  // namespace timcl_host_memory

#endif  // TIMCL_TESTS_LAYERS_HOST_MEMORY_H_

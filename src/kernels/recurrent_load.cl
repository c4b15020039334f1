// A state before the first step as float: H[i] = S[S_AT + i]. HAS_STATE 0: zeros.
#include "tensor.clh"
// clang-format off
KERNEL(recurrent_load)(
#if HAS_STATE
IN(S),
#endif
SCRATCH(H), SIZE(COUNT), SIZE(S_AT)) {
  // clang-format on
  const int i = WORK_ITEM(0);
  if (i >= COUNT) return;
#if HAS_STATE
  H[i] = LOAD(S, S_AT + i);
#else
  H[i] = 0.0f;
#endif
}

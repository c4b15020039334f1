// Moves one input of a concatenation: lines of LENGTH elements go to lines of STRIDE elements, from START on.
#include "tensor.clh"
kernel void concat(IN(X), OUT(Y), SIZE(LENGTH), SIZE(STRIDE), SIZE(START), SIZE(N)) {
  const int i = get_global_id(0);
  if (i >= N) return;
  const int line = i / LENGTH;
  COPY(Y, line * (STRIDE - LENGTH) + START + i, X, i);
}

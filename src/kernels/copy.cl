// Moves N elements from one tensor to another, converted where their encodings differ.
#include "tensor.clh"
kernel void copy(IN(X), OUT(Y), SIZE(N)) {
  const int i = get_global_id(0);
  if (i >= N) return;
  COPY(Y, i, X, i);
}

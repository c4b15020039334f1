// Moves N elements from one tensor to another, converted where their encodings differ.
#include "tensor.clh"
KERNEL(copy)(IN(X), OUT(Y), SIZE(N)) {
  const int i = WORK_ITEM(0);
  if (i >= N) return;
  COPY(Y, i, X, i);
}

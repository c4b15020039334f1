// Y = FACTOR * X, and how it can go wrong.
#include "tensor.clh"
#include "times.clh"
KERNEL(times)(IN(X), OUT(Y), SIZE(N), REAL(FACTOR)) {
  const int i = WORK_ITEM(0);
  if (i < N) STORE(Y, i, FN(times_of)(LOAD(X, i), FACTOR));
}
KERNEL(times_wrong)(IN(X), OUT(Y), SIZE(N), REAL(FACTOR)) {
  const int i = WORK_ITEM(0);
  if (i < N) STORE(Y, i, FN(times_of)(LOAD(X, i), i == 30 ? 0.0f : FACTOR));
}
KERNEL(times_hole)(IN(X), OUT(Y), SIZE(N), REAL(FACTOR)) {
  const int i = WORK_ITEM(0);
  if (i < N && i != 3) STORE(Y, i, FN(times_of)(LOAD(X, i), FACTOR));
}
KERNEL(times_beyond)(IN(X), OUT(Y), SIZE(N), REAL(FACTOR)) {
  const int i = WORK_ITEM(0);
  if (i < N) STORE(Y, i, FN(times_of)(LOAD(X, i), FACTOR));
  if (i == 0) STORE(Y, N + 1, 1.0f);
}

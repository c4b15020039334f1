// Running sum along lines of LENGTH elements, INNER apart; one work-item per line.
#include "tensor.clh"
KERNEL(cumsum)(IN(X), OUT(Y), SIZE(LENGTH), SIZE(INNER), SIZE(LINES)) {
  const int line = WORK_ITEM(0);
  if (line >= LINES) return;
  const int outer = line / INNER, base = outer * LENGTH * INNER + (line - outer * INNER);
  acc_t sum = 0;
  for (int k = 0; k < LENGTH; ++k) {
    const int at = base + (REVERSE ? LENGTH - 1 - k : k) * INNER;
    const acc_t x = LOAD(X, at);
    STORE(Y, at, EXCLUSIVE ? sum : sum + x);
    sum += x;
  }
}

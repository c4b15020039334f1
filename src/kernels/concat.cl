// Moves one input of a concatenation: lines of LENGTH elements go to lines of STRIDE elements, from START on. One
// work-item moves RUN neighbours.
#include "tensor.clh"
KERNEL(concat)(IN(X), OUT(Y), SIZE(LENGTH), SIZE(STRIDE), SIZE(START), SIZE(ITEMS)) {
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int items = (LENGTH + RUN - 1) / RUN, line = item / items, k = (item - line * items) * RUN;
  const int from = line * LENGTH + k, to = line * STRIDE + START + k;
  if (k + RUN <= LENGTH) {
    for (int l = 0; l < RUN; ++l) COPY(Y, to + l, X, from + l);
  } else {
    for (int l = 0; l < LENGTH - k; ++l) COPY(Y, to + l, X, from + l);
  }
}

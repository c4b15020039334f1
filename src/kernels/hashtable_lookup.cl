// Rows of a table by their key. STEP 0: the row of each of COUNT numbers goes to S (-1: there is none), and whether there is
// one to H. STEP 1: moves the rows, RUN neighbours of INNER elements per work-item. T: work-items per row, with multiplier
// and shift of an exact division.
#include "tensor.clh"
#include "divide.clh"
#if STEP == 0
KERNEL(hashtable_lookup)(IN(L), IN(K), SCRATCH(S), OUT(H), SIZE(COUNT), SIZE(KEYS)) {
  const int i = WORK_ITEM(0);
  if (i >= COUNT) return;
  const int wanted = L[i];
  int row = 0;
  while (row < KEYS && K[row] != wanted) ++row;
  S[i] = row < KEYS ? row : -1;
  STORE(H, i, (acc_t)(row < KEYS ? 1 : 0));
}
#else
KERNEL(hashtable_lookup)(SCRATCH(S), IN(V), OUT(Y), DATA(T), SIZE(ITEMS), SIZE(INNER)) {
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int i = (int)BY(item, T), first = (item - i * T[0]) * RUN;
  const int row = S[i], to = i * INNER + first, end = min(RUN, INNER - first);
  for (int l = 0; l < end; ++l) {
    if (row >= 0) {
      COPY(Y, to + l, V, row * INNER + first + l);
    } else {
      STORE(Y, to + l, (acc_t)0);
    }
  }
}
#endif

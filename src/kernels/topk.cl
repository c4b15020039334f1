// The K largest of each line of N elements, INNER apart: values to Y, indices to I, best first; one work-item per line.
// I holds a heap of the best indices so far with the worst at its root, which is taken apart at the end. The lower index
// goes before an equal value, a NaN before all else. WHOLE: X is an integer type, whose stored numbers are compared.
#include "tensor.clh"
#if WHOLE
#define TYPE int
#define VALUE(i) RAW(X, base + (i) * INNER)
#else
#define TYPE float
#define VALUE(i) LOAD(X, base + (i) * INNER)
#endif
#define HEAP(h) I[to + (h) * INNER]
inline bool FN(before)(TYPE v, int i, TYPE w, int j) {
#if WHOLE
  return v > w || (v == w && i < j);
#else
  const bool equal = v == w || (isnan(v) && isnan(w));
  return v > w || (isnan(v) && !isnan(w)) || (equal && i < j);
#endif
}
KERNEL(topk)(IN(X), OUT(Y), OUT(I), SIZE(N), SIZE(INNER), SIZE(K), SIZE(LINES)) {
  const int line = WORK_ITEM(0);
  if (line >= LINES) return;
  const int outer = line / INNER, inner = line - outer * INNER;
  const int base = outer * N * INNER + inner, to = outer * K * INNER + inner;
  for (int i = 0; i < K; ++i) {
    const TYPE v = VALUE(i);
    int h = i;
    while (h > 0) {
      const int parent = (h - 1) / 2, j = HEAP(parent);
      if (FN(before)(v, i, VALUE(j), j)) break;
      HEAP(h) = j;
      h = parent;
    }
    HEAP(h) = i;
  }
  // First the rest of the line, each against the worst that is kept; then the root leaves, again and again.
  int size = K;
  for (int i = K; size > 0; ++i) {
    int in = i;  // goes into the heap from its root
    if (i < N) {
      const int root = HEAP(0);
      if (!FN(before)(VALUE(i), i, VALUE(root), root)) continue;
    } else {
      --size;
      in = HEAP(size);
      HEAP(size) = HEAP(0);
    }
    const TYPE v = VALUE(in);
    int h = 0;
    for (int child = 1; child < size; child = 2 * h + 1) {
      int j = HEAP(child);
      TYPE w = VALUE(j);
      if (child + 1 < size) {
        const int other = HEAP(child + 1);
        const TYPE u = VALUE(other);
        if (FN(before)(w, j, u, other)) j = other, w = u, ++child;
      }
      if (!FN(before)(v, in, w, j)) break;
      HEAP(h) = j;
      h = child;
    }
    if (h < size) HEAP(h) = in;
  }
  for (int k = 0; k < K; ++k) COPY(Y, to + k * INNER, X, base + HEAP(k) * INNER);
}

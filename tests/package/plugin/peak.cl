// One work-item walks one line of LENGTH elements.
#include "peak.clh"
#include "tensor.clh"
KERNEL(peak)(IN(X), OUT(Y), SIZE(LENGTH), SIZE(LINES)) {
  const int line = WORK_ITEM(0) * LENGTH;
  if (WORK_ITEM(0) >= LINES) return;
  float peak = 0;
  for (int i = line; i < line + LENGTH; ++i) peak = FN(larger)(peak, LOAD(X, i));
  for (int i = line; i < line + LENGTH; ++i) STORE(Y, i, peak > 0 ? LOAD(X, i) / peak : 0);
}

// Y[p][q] = sum over k of R[p][k] * C[k][q] for each batch, from where T (two numbers per batch) says that R and C begin.
// R[p][k] lies at p * RP + k * RK, C[k][q] at q * CQ + k * CK, Y[p][q] at p * YP + q * YQ. One work-item computes ROWS
// rows of RUN columns. DOT 0: CQ is 1, RUN is 16 or 1, sums are in the order of k. DOT 1: RK and CK are 1, ROWS is 1, and
// LANES products are added up at a time. INTEGERS: sums of whole numbers of type ACC, one of which stands for SCALE.
// C_WIDE: C and ACC are float32.
#include "tensor.clh"
#if INTEGERS
#define ROW(i) ((ACC)RAW(R, i) - ZP(R))
#define COLUMN(i) ((ACC)RAW(C, i) - ZP(C))
#else
#define ROW(i) LOAD(R, i)
#define COLUMN(i) LOAD(C, i)
#endif
#if INTEGERS && !INTEGER_MATH
#define PUT(at, sum) STORE_ACC(Y, at, sum, SCALE)
#else
#define PUT(at, sum) STORE(Y, at, sum)
#endif
#define VEC TIMCL_JOIN(ACC, 16)
// clang-format off
KERNEL(matmul)(IN(R), IN(C), OUT(Y), DATA(T), SIZE(P), SIZE(Q), SIZE(K), SIZE(RP), SIZE(RK), SIZE(CQ), SIZE(CK), SIZE(YP),
SIZE(YQ), REAL(SCALE)) {
  // clang-format on
  const int q0 = WORK_ITEM(0) * RUN, p0 = WORK_ITEM(1) * ROWS, batch = WORK_ITEM(2);
  const int columns = min(RUN, Q - q0), rows = min(ROWS, P - p0);
  if (columns <= 0 || rows <= 0) return;
  const int c = T[2 * batch + 1] + q0 * CQ, r0 = T[2 * batch], y0 = batch * P * Q;
#if DOT
  const int r = r0 + p0 * RP;
  ACC sum[RUN][LANES];
  int column[RUN];
#pragma unroll
  for (int j = 0; j < RUN; ++j) {
    column[j] = c + min(j, columns - 1) * CQ;
    for (int l = 0; l < LANES; ++l) sum[j][l] = 0;
  }
  int k = 0;
  for (; k + LANES <= K; k += LANES) {
#pragma unroll
    for (int j = 0; j < RUN; ++j) {
#pragma unroll
      for (int l = 0; l < LANES; ++l) sum[j][l] += ROW(r + k + l) * COLUMN(column[j] + k + l);
    }
  }
  for (; k < K; ++k) {
    for (int j = 0; j < RUN; ++j) sum[j][0] += ROW(r + k) * COLUMN(column[j] + k);
  }
  for (int j = 0; j < columns; ++j) {
    for (int width = LANES / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) sum[j][l] += sum[j][l + width];
    }
    PUT(y0 + p0 * YP + (q0 + j) * YQ, sum[j][0]);
  }
#else
  int row[ROWS];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) row[i] = r0 + (p0 + min(i, rows - 1)) * RP;
#if RUN == 1
  ACC sum[ROWS];
  for (int i = 0; i < ROWS; ++i) sum[i] = 0;
  for (int k = 0; k < K; ++k) {
    const ACC v = COLUMN(c + k * CK);
    for (int i = 0; i < ROWS; ++i) sum[i] += ROW(row[i] + k * RK) * v;
  }
  for (int i = 0; i < rows; ++i) PUT(y0 + (p0 + i) * YP + q0 * YQ, sum[i]);
#else
  VEC sum[ROWS];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) sum[i] = (VEC)(0);
  for (int k = 0; k < K; ++k) {
    const int at = c + k * CK;
    VEC v;
#if C_WIDE
    if (columns == RUN) {
      v = vload16(0, C + at);
    } else
#endif
    {
      ACC lane[RUN];
      if (columns == RUN) {
        for (int l = 0; l < RUN; ++l) lane[l] = COLUMN(at + l);
      } else {
        for (int l = 0; l < RUN; ++l) lane[l] = COLUMN(at + min(l, columns - 1));
      }
      v = vload16(0, lane);
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) sum[i] += (VEC)(ROW(row[i] + k * RK)) * v;
  }
  for (int i = 0; i < rows; ++i) {
    ACC lane[RUN];
    vstore16(sum[i], 0, lane);
    for (int l = 0; l < columns; ++l) PUT(y0 + (p0 + i) * YP + (q0 + l) * YQ, lane[l]);
  }
#endif
#endif
}

// Y[p][q] = sum over k of R[p][k] * C[k][q] for each batch, from where T (two numbers per batch) says that R and C begin.
// R[p][k] lies at p * RP + k * RK, C[k][q] at q * CQ + k * CK, Y[p][q] at p * YP + q * YQ. One work-item computes ROWS
// rows of RUN columns. DOT 0: CQ is 1, RUN is 16 or 1, sums are in the order of k. DOT 1: RK and CK are 1, ROWS is 1, and
// LANES (8 or 1) products are added up at a time. INTEGERS: sums of whole numbers of type ACC, one of which stands for
// SCALE. R_WIDE, C_WIDE: the operand and ACC are float32.
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
#define ACC8 TIMCL_JOIN(ACC, 8)
#define EIGHT(f, i) (ACC8)(f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5), f(i + 6), f(i + 7))
#if R_WIDE
#define ROW8(i) vload8(0, R + (i))
#else
#define ROW8(i) EIGHT(ROW, i)
#endif
#if C_WIDE
#define COLUMN8(i) vload8(0, C + (i))
#else
#define COLUMN8(i) EIGHT(COLUMN, i)
#endif
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
  int column[RUN];
#pragma unroll
  for (int j = 0; j < RUN; ++j) column[j] = c + min(j, columns - 1) * CQ;
  ACC sum[RUN];
#pragma unroll
  for (int j = 0; j < RUN; ++j) sum[j] = 0;
  int k = 0;
#if LANES == 8
  ACC8 sums[RUN];
#pragma unroll
  for (int j = 0; j < RUN; ++j) sums[j] = (ACC8)(0);
  for (; k + 8 <= K; k += 8) {
    const ACC8 v = ROW8(r + k);
#pragma unroll
    for (int j = 0; j < RUN; ++j) sums[j] += v * COLUMN8(column[j] + k);
  }
#pragma unroll
  for (int j = 0; j < RUN; ++j) {
    sum[j] = ((sums[j].s0 + sums[j].s4) + (sums[j].s2 + sums[j].s6)) +
             ((sums[j].s1 + sums[j].s5) + (sums[j].s3 + sums[j].s7));
  }
#endif
  for (; k < K; ++k) {
#pragma unroll
    for (int j = 0; j < RUN; ++j) sum[j] += ROW(r + k) * COLUMN(column[j] + k);
  }
#pragma unroll
  for (int j = 0; j < RUN; ++j) {
    if (j < columns) PUT(y0 + p0 * YP + (q0 + j) * YQ, sum[j]);
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
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    if (i >= rows) continue;
    ACC lane[RUN];
    vstore16(sum[i], 0, lane);
    for (int l = 0; l < columns; ++l) PUT(y0 + (p0 + i) * YP + (q0 + l) * YQ, lane[l]);
  }
#endif
#endif
}

// Convolution in two dimensions: one work-item computes LANES neighbours along the width of OT output channels.
// INTEGERS: sums are exact integers of type ACC, scaled by M per channel; else ACC is float. TOTAL: the sum with its bias.
// HAS_BIAS, REAL_BIAS: B is there, and is float. OT channels are of one group (OT 1 where groups are smaller).
// KIND of X where sums are float: 1 float, 2 half, 0 other. STEP: the stride along the width if it is 1 or 2, else 0.
// CHANNELS_FIRST 1: neighbours in a work-group share pixels, which then stay in a CPU's cache; 0: they share weights.
// Output channel o reads the C input channels from o / GROUP * C on; a kernel slice has KC of them (KC >= C).
#include "tensor.clh"
#define LANES 8
#define ACC8 TIMCL_JOIN(ACC, 8)
#define CONVERT(v) TIMCL_JOIN(convert_, ACC8)(v)
#if INTEGERS
#define VALUE(i) (ACC)(RAW(X, i) - ZP(X))
#define WEIGHT(i) (ACC)(RAW(W, i) - ZP(W))
#define SPREAD(v) (CONVERT(v) - (ACC8)(ZP(X)))
#define READ(n, i) vload##n(0, X + (i))
#else
#define VALUE(i) LOAD(X, i)
#define WEIGHT(i) LOAD(W, i)
#define SPREAD(v) (v)
#if KIND == 2
#define READ(n, i) vload_half##n(0, X + (i))
#else
#define READ(n, i) vload##n(0, X + (i))
#endif
#endif
// EIGHT reads LANES inputs, STEP apart, out of SPAN.
#if !INTEGERS && KIND == 0 || STEP == 0
#define SPAN INT_MAX
#define EIGHT(i) (ACC8)(0)
#elif STEP == 1
#define SPAN 8
#define EIGHT(i) SPREAD(READ(8, i))
#else
#define SPAN 16
#define EIGHT(i) SPREAD(READ(16, i).even)
#endif

// clang-format off
KERNEL(conv2d)(IN(X), IN(W)
#if HAS_BIAS
, IN(B)
#endif
#if INTEGERS
, DATA(M)
#endif
, OUT(Y), SIZE(IW), SIZE(IH), SIZE(IC), SIZE(C), SIZE(GROUP), SIZE(KW), SIZE(KH), SIZE(KC), SIZE(OW), SIZE(OH), SIZE(OC),
SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(DILATION_X), SIZE(DILATION_Y), SIZE(LEFT), SIZE(TOP), SIZE(TILES)) {
  // clang-format on
  int tile = WORK_ITEM(0);
  if (tile >= TILES) return;
  const int across = (OW + LANES - 1) / LANES, channels = (OC + OT - 1) / OT;
#if CHANNELS_FIRST
  const int o0 = tile % channels * OT;
  tile /= channels;
#endif
  const int x0 = tile % across * LANES;
  tile /= across;
  const int y = tile % OH;
  tile /= OH;
#if CHANNELS_FIRST
  const int image = tile;
#else
  const int o0 = tile % channels * OT, image = tile / channels;
#endif

  const int slice = KC * KH * KW, c0 = o0 / GROUP * C;
  const int left = x0 * STRIDE_X - LEFT, top = y * STRIDE_Y - TOP;
  global const W_t* row[OT];
  ACC8 sum[OT];
#pragma unroll
  for (int t = 0; t < OT; ++t) {
    row[t] = W + min(o0 + t, OC - 1) * slice;
    sum[t] = (ACC8)(0);
  }
  for (int c = 0; c < C; ++c) {
    for (int j = 0; j < KH; ++j) {
      const int iy = top + j * DILATION_Y;
      if (iy < 0 || iy >= IH) continue;
      const int line = ((image * IC + c0 + c) * IH + iy) * IW;
      for (int i = 0; i < KW; ++i) {
        const int ix = left + i * DILATION_X, k = (c * KH + j) * KW + i;
        ACC8 x;
        if (ix >= 0 && ix <= IW - SPAN) {
          x = EIGHT(line + ix);
        } else {
          ACC lane[LANES];
          for (int l = 0; l < LANES; ++l) {
            const int at = ix + l * STRIDE_X;
            lane[l] = at >= 0 && at < IW ? VALUE(line + at) : (ACC)0;
          }
          x = vload8(0, lane);
        }
#pragma unroll
        for (int t = 0; t < OT; ++t) {
          global const W_t* W = row[t];  // what WEIGHT reads from
          sum[t] += (ACC8)(WEIGHT(k)) * x;
        }
      }
    }
  }
  const int lanes = min(LANES, OW - x0);
#pragma unroll
  for (int t = 0; t < OT; ++t) {
    const int o = o0 + t;
    if (o >= OC) continue;
    ACC lane[LANES];
    vstore8(sum[t], 0, lane);
    const int to = ((image * OC + o) * OH + y) * OW + x0;
    for (int l = 0; l < lanes; ++l) {
#if INTEGERS && REAL_BIAS
      const float product = (float)lane[l] * M[o];
      STORE(Y, to + l, product + LOAD(B, o));
#elif INTEGERS
#if HAS_BIAS
      const TOTAL total = (TOTAL)lane[l] + B[o];
#else
      const TOTAL total = lane[l];
#endif
      STORE_ACC(Y, to + l, total, M[o]);
#elif HAS_BIAS
      STORE(Y, to + l, lane[l] + LOAD(B, o));
#else
      STORE(Y, to + l, lane[l]);
#endif
    }
  }
}

// Transposed convolution in two dimensions: one work-item computes LANES positions along the width,
// STRIDE_X apart, which the same taps of the kernel reach from neighbouring inputs, of OT output
// channels, all of one group. STEP is 1. Other defines: convolution.clh, conv2d.cl.
#include "convolution.clh"

// clang-format off
KERNEL(deconv2d)(SUM_PARAMETERS, SIZE(IW), SIZE(IH), SIZE(IC), SIZE(C), SIZE(GROUP), SIZE(KW), SIZE(KH), SIZE(KC), SIZE(OW), SIZE(OH), SIZE(OC),
SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(LEFT), SIZE(TOP), SIZE(TILES)) {
  // clang-format on
  int tile = WORK_ITEM(0);
  if (tile >= TILES) return;
  const int steps = (OW + STRIDE_X - 1) / STRIDE_X, across = (steps + LANES - 1) / LANES * STRIDE_X;
  const int channels = (OC + OT - 1) / OT;
#if CHANNELS_FIRST
  const int o0 = tile % channels * OT;
  tile /= channels;
#endif
  const int phase = tile % STRIDE_X, n0 = tile % across / STRIDE_X * LANES;
  tile /= across;
  const int y = tile % OH;
  tile /= OH;
#if CHANNELS_FIRST
  const int image = tile;
#else
  const int o0 = tile % channels * OT, image = tile / channels;
#endif

  // Input ix reaches x by tap i where ix * STRIDE_X + i == x + LEFT. Taps start where that can be,
  // and step by the stride.
  const int right = phase + LEFT, bottom = y + TOP;
  const int i0 = right % STRIDE_X, j0 = bottom % STRIDE_Y;
  const int slice = KC * KH * KW, c0 = o0 / GROUP * C;
  global const W_t* row[OT];
  ACC8 sum[OT];
#pragma unroll
  for (int t = 0; t < OT; ++t) {
    row[t] = W + min(o0 + t, OC - 1) * slice;
    sum[t] = (ACC8)(0);
  }
  for (int c = 0; c < C; ++c) {
    for (int j = j0, iy = (bottom - j0) / STRIDE_Y; j < KH; j += STRIDE_Y, --iy) {
      if (iy < 0 || iy >= IH) continue;
      const int line = ((image * IC + c0 + c) * IH + iy) * IW;
      for (int i = i0, ix = (right - i0) / STRIDE_X + n0; i < KW; i += STRIDE_X, --ix) {
        const int k = (c * KH + j) * KW + i;
        ACC8 x;
        READ_LANES(x, line, ix, 1);
#pragma unroll
        for (int t = 0; t < OT; ++t) {
          global const W_t* W = row[t];  // what WEIGHT reads from
          sum[t] += (ACC8)(WEIGHT(k)) * x;
        }
      }
    }
  }
#pragma unroll
  for (int t = 0; t < OT; ++t) {
    const int o = o0 + t;
    if (o >= OC) continue;
    ACC lane[LANES];
    vstore8(sum[t], 0, lane);
    const int to = ((image * OC + o) * OH + y) * OW;
    for (int l = 0; l < LANES; ++l) {
      const int x = phase + (n0 + l) * STRIDE_X;
      if (x < OW) FINISH(to + x, o, lane[l]);
    }
  }
}

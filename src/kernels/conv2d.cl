// Convolution in two dimensions, or three if DEPTH is 1: one work-item computes LANES neighbours
// along the width of OT output channels, all of one group (OT 1 where groups are smaller).
// STEP: the stride along the width if it is 1 or 2, else 0. Other defines: convolution.clh.
// CHANNELS_FIRST 1: neighbours in a work-group share pixels, which then stay in a CPU's cache;
// 0: they share weights.
// Output channel o reads the C input channels from o / GROUP * C on; a kernel slice has KC of them.
#include "convolution.clh"
#if !DEPTH
#define ID 1
#define KD 1
#define OD 1
#define STRIDE_Z 1
#define DILATION_Z 1
#define FRONT 0
#endif

// clang-format off
KERNEL(conv2d)(SUM_PARAMETERS, SIZE(IW), SIZE(IH), SIZE(IC), SIZE(C), SIZE(GROUP), SIZE(KW), SIZE(KH), SIZE(KC), SIZE(OW), SIZE(OH), SIZE(OC),
SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(DILATION_X), SIZE(DILATION_Y), SIZE(LEFT), SIZE(TOP), SIZE(TILES)
#if DEPTH
, SIZE(ID), SIZE(KD), SIZE(OD), SIZE(STRIDE_Z), SIZE(DILATION_Z), SIZE(FRONT)
#endif
) {
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
  const int z = tile % OD;
  tile /= OD;
#if CHANNELS_FIRST
  const int image = tile;
#else
  const int o0 = tile % channels * OT, image = tile / channels;
#endif

  const int slice = KC * KD * KH * KW, c0 = o0 / GROUP * C;
  const int left = x0 * STRIDE_X - LEFT, top = y * STRIDE_Y - TOP;
  const int front = z * STRIDE_Z - FRONT;
  global const W_t* row[OT];
  ACC8 sum[OT];
#pragma unroll
  for (int t = 0; t < OT; ++t) {
    row[t] = W + min(o0 + t, OC - 1) * slice;
    sum[t] = (ACC8)(0);
  }
  for (int c = 0; c < C; ++c) {
    for (int d = 0; d < KD; ++d) {
      const int iz = front + d * DILATION_Z;
      if (iz < 0 || iz >= ID) continue;
      for (int j = 0; j < KH; ++j) {
        const int iy = top + j * DILATION_Y;
        if (iy < 0 || iy >= IH) continue;
        const int line = (((image * IC + c0 + c) * ID + iz) * IH + iy) * IW;
        for (int i = 0; i < KW; ++i) {
          const int ix = left + i * DILATION_X, k = ((c * KD + d) * KH + j) * KW + i;
          ACC8 x;
          READ_LANES(x, line, ix, STRIDE_X);
#pragma unroll
          for (int t = 0; t < OT; ++t) {
            global const W_t* W = row[t];  // what WEIGHT reads from
            sum[t] += (ACC8)(WEIGHT(k)) * x;
          }
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
    const int to = (((image * OC + o) * OD + z) * OH + y) * OW + x0;
    for (int l = 0; l < lanes; ++l) {
      FINISH(to + l, o, lane[l]);
    }
  }
}

// Convolution of a plain tensor of few channels, X [images][C][IH][IW], to a blocked one, fp32 or
// half: one work-item computes MX neighbours of a line, NV blocks of channels of each, in vector registers,
// so that MX * NV + NV + 1 must not exceed their number (32). STRIDE: both strides.
//   W [ceil(OC / NR)][C][KH][KW][NR], NR = 16 * NV, bias [ceil(OC / NR)][NR], padded with zeros
// (MX - 1) * STRIDE + (KW - 1) * DILATION_X < LINE.
// Global size: tiles, ceil(OC / NR), images.
#define MY 1
#include "block_tile.clh"
#define NR (16 * NV)
#define LINE 64  // pixels in a copied line

// clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(bias), OUT(Y), SIZE(IW), SIZE(IH), SIZE(C), SIZE(OW), SIZE(OH), SIZE(OC), SIZE(KW), SIZE(KH), \
  SIZE(DILATION_X), SIZE(DILATION_Y), SIZE(LEFT), SIZE(TOP)
// clang-format on
TILE_FUNCTION(tile)(PARAMETERS, int tile, int group, int image) {
  const int across = (OW + MX - 1) / MX;
  const int y = tile / across, own_x = (tile - y * across) * MX;
  // The last tile moves back to end with the line, but stores only what is its own.
  const int x0 = max(min(own_x, OW - MX), 0), left = x0 * STRIDE - LEFT, top = y * STRIDE - TOP;
  const int wide = (MX - 1) * STRIDE + 1 + (KW - 1) * DILATION_X;
  const bool inside = left >= 0 && left + wide <= IW;
  global const float* w = W + group * (C * KH * KW * NR);

  float16 acc[MX][NV];
  START_TILE(acc, MX, LOAD16(bias + (group * NV + j) * 16));
  // There is more output than input.
  CLAIM_TILE(image, group * NV, x0, y);

  float copy[LINE];
  for (int c = 0; c < C; ++c) {
    const int first = (image * C + c) * (IH * IW);
    global const X_t* plane = X + first;
    // The input comes from memory: what the tile two lines below is the first to read.
#pragma nounroll
    for (int r = 0; r < STRIDE; ++r)
#pragma nounroll
      for (int i = 0; i < wide; i += 16)
        PREFETCH(plane + (top + KH * DILATION_Y + STRIDE + r) * IW + left + i, 0);
#pragma nounroll
    for (int kh = 0; kh < KH; ++kh) {
      const int iy = top + kh * DILATION_Y;
      if (iy < 0 || iy >= IH) {
        w += KW * NR;
        continue;
      }
      global const float* x;
#if X_HALF
      int i = 0;
#pragma nounroll
      for (; inside && i + 16 <= wide; i += 16)
        STORE16(VLOAD(X, first + iy * IW + left + i), AS_GLOBAL(copy) + i);
#else
      x = plane + iy * IW + left;
      int i = inside ? wide : 0;
#endif
      // A line that reaches beyond the image, or the rest of one that is half.
#pragma nounroll
      for (; i < wide; ++i)
        copy[i] = left + i >= 0 && left + i < IW ? LOAD(X, first + iy * IW + left + i) : 0.0f;
      if (X_HALF || !inside) x = AS_GLOBAL(copy);
#pragma nounroll
      for (int kw = 0; kw < KW; ++kw) {
        ADD_TERM(acc, MX, x[i * STRIDE], w);
        w += NR;
        x += DILATION_X;
      }
    }
  }
  STORE_TILE(acc, image, group * NV, x0, y, own_x, y);
}
TILE_KERNEL(conv_stem)(PARAMETERS) {
  FN(tile)
  (PASS(X), PASS(W), PASS(bias), PASS(Y), IW, IH, C, OW, OH, OC, KW, KH, DILATION_X, DILATION_Y,
   LEFT, TOP, WORK_ITEM(0), WORK_ITEM(1), WORK_ITEM(2));
}

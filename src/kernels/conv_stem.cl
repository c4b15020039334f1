// Convolution of a plain tensor of few channels, X [images][C][IH][IW], to a blocked one, fp32: one
// work-item computes MX x MY pixels of NV blocks of channels in vector registers, so that
// MX * MY * NV + NV + 1 must not exceed their number (32). STRIDE: both strides.
//   W [ceil(OC / NR)][C][KH][KW][NR], NR = 16 * NV, bias [ceil(OC / NR)][NR], padded with zeros
// (MX - 1) * STRIDE + (KW - 1) * DILATION_X < LINE.
// Global size: tiles of pixels, ceil(OC / NR), images.
#include "block_tile.clh"
#define NR (16 * NV)
#define LINE 64  // pixels in a copied line

// clang-format off
TILE_KERNEL(conv_stem)(IN(X), DATA(W), DATA(bias), OUT(Y), SIZE(IW), SIZE(IH), SIZE(C), SIZE(OW), SIZE(OH), SIZE(OC), SIZE(KW), SIZE(KH),
SIZE(DILATION_X), SIZE(DILATION_Y), SIZE(LEFT), SIZE(TOP)) {
  // clang-format on
  const int across = (OW + MX - 1) / MX, wide = (MX - 1) * STRIDE + 1 + (KW - 1) * DILATION_X;
  const int group = WORK_ITEM(1), image = WORK_ITEM(2);
  const int own_y = WORK_ITEM(0) / across * MY, own_x = WORK_ITEM(0) % across * MX;
  // The last tile moves back to end with the image, but stores only what is its own.
  const int x0 = max(min(own_x, OW - MX), 0), y0 = max(min(own_y, OH - MY), 0);
  const int left = x0 * STRIDE - LEFT, top = y0 * STRIDE - TOP;
  const bool inside = left >= 0 && left + wide <= IW;
  global const float* w = W + group * (C * KH * KW * NR);

  float16 acc[MY * MX][NV];
#pragma unroll
  for (int i = 0; i < MY * MX; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) acc[i][j] = LOAD16(bias + (group * NV + j) * 16);
  float patch[MY][LINE];
  for (int c = 0; c < C; ++c) {
    global const float* plane = X + (image * C + c) * (IH * IW);
#pragma nounroll
    for (int kh = 0; kh < KH; ++kh) {
      global const float* line[MY];
#pragma unroll
      for (int r = 0; r < MY; ++r) {
        const int y = top + r * STRIDE + kh * DILATION_Y;
        line[r] = plane + y * IW + left;
        if (inside && y >= 0 && y < IH) continue;
#pragma nounroll
        for (int i = 0; i < wide; ++i) {
          const bool in_image = left + i >= 0 && left + i < IW && y >= 0 && y < IH;
          patch[r][i] = in_image ? line[r][i] : 0.0f;
        }
        line[r] = AS_GLOBAL(patch[r]);
      }
#pragma nounroll
      for (int kw = 0; kw < KW; ++kw) {
        float16 v[NV];
#pragma unroll
        for (int j = 0; j < NV; ++j) v[j] = LOAD16(w + j * 16);
#pragma unroll
        for (int i = 0; i < MY * MX; ++i) {
          const float16 x = line[i / MX][i % MX * STRIDE];
#pragma unroll
          for (int j = 0; j < NV; ++j) acc[i][j] = fma(x, v[j], acc[i][j]);
        }
        w += NR;
#pragma unroll
        for (int r = 0; r < MY; ++r) line[r] += DILATION_X;
      }
    }
  }
  STORE_TILE(acc, image, group * NV, x0, y0, own_x, own_y);
}

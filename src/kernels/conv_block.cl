// Convolution between blocked tensors, X [images][ceil(IC / 16)][IH][IW][16] and Y likewise, fp32:
// one work-item computes MX x MY pixels of NV blocks of channels in vector registers, so that
// MX * MY * NV + NV + 1 must not exceed their number (32).
// STRIDE: both strides if they are 1 or 2, else 0; they are then STRIDE_X and STRIDE_Y.
//   W [ceil(OC / NR)][ceil(IC / 16)][KH][KW][16][NR], NR = 16 * NV; the last block of inputs has
//   only as many lanes as there are. bias [ceil(OC / NR)][NR]. Both padded with zeros.
// 1x1 windows with stride 1 see one line of W * H pixels.
// STRIDE > 0: (MX - 1) * STRIDE + (KW - 1) * DILATION_X < LINE.
// Global size: tiles of pixels, ceil(OC / NR), images. Pixels come first: they share weights.
#include "block_tile.clh"
#define NR (16 * NV)
#define LINE 64  // pixels in a copied line

// Copies `count` cells of a line of IW pixels, `apart` from each other, from cell ix on; those
// outside are zero.
inline void FN(copy_line)(global const float* line, int ix, int apart, int count, int IW,
                          float16* to) {
  for (int i = 0; i < count; ++i, ix += apart)
    to[i] = ix >= 0 && ix < IW ? LOAD16(line + ix * 16) : ZERO16;
}

// clang-format off
TILE_KERNEL(conv_block)(IN(X), DATA(W), DATA(bias), OUT(Y), SIZE(IW), SIZE(IH), SIZE(IC), SIZE(OW), SIZE(OH), SIZE(OC), SIZE(KW), SIZE(KH),
SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(DILATION_X), SIZE(DILATION_Y), SIZE(LEFT), SIZE(TOP)) {
  // clang-format on
#if STRIDE
#define STEP_X STRIDE
#define STEP_Y STRIDE
#define COPIED ((MX - 1) * STRIDE + 1 + (KW - 1) * DILATION_X)
#define APART STRIDE
#else
#define STEP_X STRIDE_X
#define STEP_Y STRIDE_Y
#define APART 1
#endif
  const int across = (OW + MX - 1) / MX;
  const int group = WORK_ITEM(1), image = WORK_ITEM(2);
  const int own_y = WORK_ITEM(0) / across * MY, own_x = WORK_ITEM(0) % across * MX;
  // The last tile moves back to end with the image, but stores only what is its own.
  const int x0 = max(min(own_x, OW - MX), 0), y0 = max(min(own_y, OH - MY), 0);
  const int left = x0 * STEP_X - LEFT, top = y0 * STEP_Y - TOP;
  const int blocks = (IC + 15) / 16, first_block = group * NV;
  global const float* w = W + group * (IC * KH * KW * NR);

  // The weights of the next group come from memory while these are used: all tiles fetch them
  // together, each its share of every window row.
  const int share = (KW * 16 * NR + WORK_ITEMS(0) * 16 - 1) / (WORK_ITEMS(0) * 16) * 16;
  global const float* next = w + IC * KH * KW * NR + WORK_ITEM(0) * share * blocks * KH;

  float16 acc[MY * MX][NV];
#pragma unroll
  for (int i = 0; i < MY * MX; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) acc[i][j] = LOAD16(bias + (first_block + j) * 16);

  float16 patch[MY][LINE];
#if MY > 1
  float16 zeros[LINE];
  for (int i = 0; i < LINE; ++i) zeros[i] = ZERO16;
#endif
#if STRIDE
  const bool inside = left >= 0 && left + COPIED <= IW;
#endif
  for (int b = 0; b < blocks; ++b) {
    global const float* plane = X + (image * blocks + b) * (IH * IW * 16);
    const int lanes = min(16, IC - b * 16);
#pragma nounroll
    for (int kh = 0; kh < KH; ++kh) {
      const int iy = top + kh * DILATION_Y;
#pragma nounroll
      for (int i = 0; i < share; i += 16) PREFETCH(next + i);
      next += share;
#if MY == 1
      if (iy < 0 || iy >= IH) {
        w += KW * lanes * NR;
        continue;
      }
#endif
      // Lines that reach beyond the image are copied, which is cheap beside the sums.
      global const float* line[MY];
#if STRIDE
#pragma unroll
      for (int r = 0; r < MY; ++r) {
        const int y = iy + r * STEP_Y;
        global const float* from = plane + y * (IW * 16);
#if MY > 1
        if (y < 0 || y >= IH) {
          line[r] = AS_GLOBAL(zeros);
        } else
#endif
            if (inside) {
          line[r] = from + left * 16;
        } else {
          FN(copy_line)(from, left, 1, COPIED, IW, patch[r]);
          line[r] = AS_GLOBAL(patch[r]);
        }
      }
#endif
#pragma nounroll
      for (int kw = 0; kw < KW; ++kw) {
#if !STRIDE
#pragma unroll
        for (int r = 0; r < MY; ++r) {
          const int y = iy + r * STEP_Y;
          const bool outside = y < 0 || y >= IH;
          FN(copy_line)
          (plane + y * (IW * 16), outside ? -MX * STEP_X : left + kw * DILATION_X, STEP_X, MX, IW,
           patch[r]);
          line[r] = AS_GLOBAL(patch[r]);
        }
#endif
        for (int l = 0; l < lanes; ++l) {
          float16 v[NV];
#pragma unroll
          for (int j = 0; j < NV; ++j) v[j] = LOAD16(w + j * 16);
#pragma unroll
          for (int i = 0; i < MY * MX; ++i) {
            const float16 x = line[i / MX][l + i % MX * (APART * 16)];
#pragma unroll
            for (int j = 0; j < NV; ++j) acc[i][j] = fma(x, v[j], acc[i][j]);
          }
          w += NR;
        }
#pragma unroll
        for (int r = 0; r < MY; ++r) line[r] += DILATION_X * 16;
      }
    }
  }

  STORE_TILE(acc, image, first_block, x0, y0, own_x, own_y);
}

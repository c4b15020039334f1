// Convolution between blocked tensors, X [images][ceil(IC / 16)][IH][IW][16] and Y likewise, fp32
// or half: a tile is MX neighbours of a line, NV blocks of channels of each, in vector
// registers, so that MX * NV + NV + 1 must not exceed their number (32).
// STRIDE: both strides if they are 1 or 2, else 0; they are then STRIDE_X and STRIDE_Y.
//   W [ceil(OC / NR)][ceil(IC / 16)][KH][KW][16][NR], NR = 16 * NV; the last block of inputs has
//   only as many lanes as there are. bias [ceil(OC / NR)][NR]. Both padded with zeros.
// 1x1 windows with stride 1 see one line of W * H pixels.
// STRIDE > 0: (MX - 1) * STRIDE + (KW - 1) * DILATION_X < LINE.
// One work-item computes RUN such tiles. SPLIT 1: at most MOST, and all of them block of inputs by
//   block, with sums that wait in memory, so that the weights of a block stay in the first-level cache:
//   for groups of weights that do not stay in the second. SPLIT 0: one after the other.
// Global size: ceil(tiles / RUN), ceil(OC / NR), images. Tiles come first: they share weights.
#define MY 1
#include "block_tile.clh"
#define NR (16 * NV)
#define LINE 64  // pixels in a copied line
#define MOST 8   // tiles whose sums wait
#if STRIDE
#define APART STRIDE
#define FIRST_X (x0 * STRIDE - LEFT)
#define FIRST_Y (y * STRIDE - TOP)
#else
#define APART 1
#define FIRST_X (x0 * STRIDE_X - LEFT)
#define FIRST_Y (y * STRIDE_Y - TOP)
#endif

// Copies `count` cells of a line of IW pixels, `apart` from each other, from cell ix on; those
// outside are zero.
inline void FN(copy_line)(global const X_t* line, int ix, int apart, int count, int IW,
                          float16* to) {
  for (int i = 0; i < count; ++i, ix += apart)
    to[i] = ix >= 0 && ix < IW ? READ16(line + ix * 16) : ZERO16;
}

// clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(bias), OUT(Y), SIZE(IW), SIZE(IH), SIZE(IC), SIZE(OW), SIZE(OH), SIZE(OC), SIZE(KW), SIZE(KH), \
  SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(DILATION_X), SIZE(DILATION_Y), SIZE(LEFT), SIZE(TOP), SIZE(RUN)
// clang-format on
TILE_FUNCTION(run)(PARAMETERS, int item, int group, int image) {
  const int across = (OW + MX - 1) / MX, blocks = (IC + 15) / 16;
  const int first = item * RUN, last = min(first + RUN, across * OH);
  global const float* const weights = W + group * (IC * KH * KW * NR);

  // The weights of the next blocks, or of the next group, come from memory while these are used:
  // all tiles that use them fetch them together, each its share of every window row.
  const int tiles = SPLIT ? last - first : across * OH;
  const int share = (KW * NR + tiles - 1) / tiles * 16;

  float16 copy[LINE];
#if SPLIT
  float16 sums[MOST][MX][NV];
#endif
  // So many terms that what it takes to put the sums away is little.
  const int together = SPLIT ? max(8 / (KH * KW), 1) : blocks;
  for (int begin = 0; begin < blocks; begin += together) {
    const int end = min(begin + together, blocks);
    for (int tile = first; tile < last; ++tile) {
      const int y = tile / across, own_x = (tile - y * across) * MX;
      // The last tile moves back to end with the line, but stores only what is its own.
      const int x0 = max(min(own_x, OW - MX), 0), left = FIRST_X, top = FIRST_Y;
#if STRIDE
      const int wide = (MX - 1) * STRIDE + 1 + (KW - 1) * DILATION_X;
      const bool inside = left >= 0 && left + wide <= IW;
#endif
      global const float* w = weights + begin * (16 * KH * KW * NR);
      global const float* next = w + min(together * 16, IC - begin * 16) * (KH * KW * NR) +
                                 (SPLIT ? tile - first : tile) * share * together * KH;

      float16 acc[MX][NV];
#if SPLIT
      if (begin > 0) {
        START_TILE(acc, MX, sums[tile - first][i][j]);
      } else
#endif
        START_TILE(acc, MX, LOAD16(bias + (group * NV + j) * 16));

      for (int b = begin; b < end; ++b) {
        global const X_t* plane = X + (image * blocks + b) * (IH * IW * 16);
        const int lanes = min(16, IC - b * 16);
#pragma nounroll
        for (int kh = 0; kh < KH; ++kh) {
#pragma nounroll
          for (int i = 0; i < share; i += 16) PREFETCH(next + i, 0);
          next += share;
          const int iy = top + kh * DILATION_Y;
          if (iy < 0 || iy >= IH) {
            w += KW * lanes * NR;
            continue;
          }
          global const X_t* line = plane + iy * (IW * 16);
          global const float* x;
#if STRIDE
#if STRIDE == 2
          // So many new pixels that the processor would wait for them.
          if (kh + 1 < KH) {
#pragma nounroll
            for (int i = 0; i < wide; ++i) PREFETCH(line + (IW * DILATION_Y + left + i) * 16, 0);
          }
#endif
          // A line that reaches beyond the image, or is half, is copied, which is cheap beside the
          // sums.
#if X_HALF
          if (inside) {
#pragma nounroll
            for (int i = 0; i < wide; ++i) copy[i] = READ16(line + (left + i) * 16);
          }
#else
          x = line + left * 16;
#endif
          if (!inside) FN(copy_line)(line, left, 1, wide, IW, copy);
          if (X_HALF || !inside) x = AS_GLOBAL(copy);
#endif
#pragma nounroll
          for (int kw = 0; kw < KW; ++kw) {
#if !STRIDE
            FN(copy_line)(line, left + kw * DILATION_X, STRIDE_X, MX, IW, copy);
            x = AS_GLOBAL(copy);
#endif
            for (int l = 0; l < lanes; ++l) {
              ADD_TERM(acc, MX, x[l + i * (APART * 16)], w);
              w += NR;
            }
            x += DILATION_X * 16;
          }
        }
      }
#if SPLIT
      if (end < blocks) {
#pragma unroll
        for (int i = 0; i < MX; ++i)
#pragma unroll
          for (int j = 0; j < NV; ++j) sums[tile - first][i][j] = acc[i][j];
        continue;
      }
#endif
      STORE_TILE(acc, image, group * NV, x0, y, own_x, y);
    }
  }
}
TILE_KERNEL(conv_block)(PARAMETERS) {
  FN(run)
  (PASS(X), PASS(W), PASS(bias), PASS(Y), IW, IH, IC, OW, OH, OC, KW, KH, STRIDE_X, STRIDE_Y,
   DILATION_X, DILATION_Y, LEFT, TOP, RUN, WORK_ITEM(0), WORK_ITEM(1), WORK_ITEM(2));
}

// conv_block.cl with factors rounded to bfloat16 and sums in fp32. Two neighbouring channels of a
// pixel are a pair (bf16.clh). A work-item rounds the pixels that it reads of a line, for one
// block of channels, while it multiplies those of the line before.
// POINT 1: windows of 1x1. Else STRIDE: both strides, which are the same, with
//   (MX - 1) * STRIDE + (KW - 1) * DILATION_X < LINE.
//   W [ceil(OC / NR)][ceil(IC / 16)][KH][KW][8][NR] pairs, NR = 16 * NV; the last block of inputs
//   has only ceil(lanes / 2) pairs. bias [ceil(OC / NR)][NR]. Both padded with zeros.
// 1x1 windows with stride 1 see one line of W * H pixels.
// Global size: tiles, ceil(OC / NR), images. Tiles come first: they share weights.
#define MY 1
#include "block_tile.clh"
#include "bf16.clh"
#define NR (16 * NV)
#if POINT
#define LINE MX  // pixels in a rounded line: those alone that are multiplied
#define IN_LINE 1
#define IN_IMAGE STRIDE_X  // steps from one to the next
#define EACH _Pragma("unroll")
#else
#define LINE 64
#define IN_LINE STRIDE
#define IN_IMAGE 1
#define EACH _Pragma("nounroll")
#endif

// Rounds `count` pixels of line iy of a block, IN_IMAGE apart from column `left` on. Those outside
// of the image are zeros, and so are lanes past the last channel, which may hold NaN.
#define ROUND_LINE(b, iy, to)                                                            \
  {                                                                                      \
    global const float* const line = X + ((image * blocks + (b)) * IH + (iy)) * IW * 16; \
    const int16 keep = lane < IC - (b)*16;                                               \
    if ((iy) < 0 || (iy) >= IH) {                                                        \
    } else if (inside) {                                                                 \
      EACH for (int i = 0; i < count; ++i) {                                             \
        const float16 v = LOAD16(line + (left + i * IN_IMAGE) * 16);                     \
        (to)[i] = FN(round16)(as_float16(as_int16(v) & keep));                           \
      }                                                                                  \
    } else {                                                                             \
      _Pragma("nounroll") for (int i = 0; i < count; ++i) {                              \
        const int at = left + i * IN_IMAGE;                                              \
        const float16 v = at >= 0 && at < IW ? LOAD16(line + at * 16) : ZERO16;          \
        (to)[i] = FN(round16)(as_float16(as_int16(v) & keep));                           \
      }                                                                                  \
    }                                                                                    \
  }

// clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(bias), OUT(Y), SIZE(IW), SIZE(IH), SIZE(IC), SIZE(OW), SIZE(OH), SIZE(OC), SIZE(KW), SIZE(KH), \
  SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(DILATION_X), SIZE(DILATION_Y), SIZE(LEFT), SIZE(TOP)
// clang-format on
TILE_FUNCTION(tile)(PARAMETERS, int tile, int group, int image) {
  const int across = (OW + MX - 1) / MX, blocks = (IC + 15) / 16, pairs = (IC + 1) / 2;
  const int y = tile / across, own_x = (tile - y * across) * MX;
  // The last tile moves back to end with the line, but stores only what is its own.
  const int x0 = max(min(own_x, OW - MX), 0);
  const int left = x0 * STRIDE_X - LEFT, top = y * STRIDE_Y - TOP;
#if POINT
  const int count = MX;
#else
  const int count = (MX - 1) * STRIDE + 1 + (KW - 1) * DILATION_X;
#endif
  const bool inside = left >= 0 && left + (count - 1) * IN_IMAGE < IW;
  global const int* w = W + group * (pairs * KH * KW * NR);

  // The weights of the next group come from memory while these are used: all tiles fetch them
  // together, each its share of every window row.
  const int share = (KW * NR / 2 + across * OH - 1) / (across * OH) * 16;
  global const int* next = w + pairs * KH * KW * NR + tile * share * blocks * KH;

  float16 acc[MX][NV];
#pragma unroll
  for (int i = 0; i < MX; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) acc[i][j] = LOAD16(bias + (group * NV + j) * 16);

  uint8 rounded[2][LINE];
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  ROUND_LINE(0, top, rounded[0])
  int b = 0, kh = 0, iy = top;
  for (int turn = 0; b < blocks; turn ^= 1) {
    const int steps = (min(16, IC - b * 16) + 1) / 2;
    const bool multiply = iy >= 0 && iy < IH;
    if (++kh < KH) {
      iy += DILATION_Y;
    } else {
      kh = 0, iy = top, ++b;
    }
    if (b < blocks) ROUND_LINE(b, iy, rounded[turn ^ 1])
#pragma nounroll
    for (int i = 0; i < share; i += 16) PREFETCH(next + i, 0);
    next += share;
    if (!multiply) {
      w += KW * steps * NR;
      continue;
    }
    const int* x = (const int*)rounded[turn];
#pragma nounroll
    for (int kw = 0; kw < KW; ++kw) {
#pragma nounroll
      for (int l = 0; l < steps; ++l) {
        int16 v[NV];
#pragma unroll
        for (int j = 0; j < NV; ++j) v[j] = as_int16(LOAD16((global const float*)w + j * 16));
#pragma unroll
        for (int i = 0; i < MX; ++i) {
          const int16 two = x[l + i * (IN_LINE * 8)];
#pragma unroll
          for (int j = 0; j < NV; ++j) DOT2(acc[i][j], two, v[j]);
        }
        w += NR;
      }
      x += DILATION_X * 8;
    }
  }
  STORE_TILE(acc, image, group * NV, x0, y, own_x, y);
}
TILE_KERNEL(conv_block_bf16)(PARAMETERS) {
  FN(tile)
  (PASS(X), PASS(W), PASS(bias), PASS(Y), IW, IH, IC, OW, OH, OC, KW, KH, STRIDE_X, STRIDE_Y,
   DILATION_X, DILATION_Y, LEFT, TOP, WORK_ITEM(0), WORK_ITEM(1), WORK_ITEM(2));
}

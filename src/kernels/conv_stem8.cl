// Convolution of an 8-bit tensor of few channels in plain form [images][IC][IH][IW] to blocked form
// (block8.clh): one work-item computes MX neighbours along the width of NR = 16 * NV channels; OW
// >= MX. Four taps along the width take the place of the four channels that conv_block8.cl
// multiplies at once, so that no input channel is wasted. STEP: the stride along the width; no
// dilation; KW <= WIDEST, a multiple of 4; IC * KH <= LINES. FLIP: 0x80 where X is signed, else 0.
// CELLS: elements of X.
//   W  [groups][IC][KH][KW / 4][NR][4] bytes (DOT 1), KW rounded up to fours; or
//   [groups][IC][KH][KW][NR] B, M  int and float [groups][NR]; B as in conv_block8.cl, for the
//   values without sign
// DOT 0: sums stay below 2^24.
// Global size: tiles along a row, rows, GROUPS * images.
#define NR (16 * NV)
#define ROWS MX
#include "tile8.clh"
#define LINES 64
#define LINE (((MX - 1) * STEP + WIDEST + 15) / 16 * 16)

#if DOT
#define cell_t uchar
typedef int __attribute__((aligned(1))) FN(taps_t);
#define taps_t FN(taps_t)
#define TAPS 4
#define TAPS_AT(x) *(const taps_t*)(x)
#define PUT16(to, v) *(timcl_bytes16*)(to) = v
#else
#define cell_t float
#define TAPS 1
#define TAPS_AT(x) *(x)
#define PUT16(to, v) vstore16(convert_float16(v), 0, to)
#endif

// clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(B), DATA(M), OUT(Y), SIZE(IW), SIZE(IH), SIZE(IC), SIZE(OW), SIZE(OH), \
  SIZE(OC), SIZE(KW), SIZE(KH), SIZE(STRIDE_Y), SIZE(LEFT), SIZE(TOP), SIZE(GROUPS), SIZE(CELLS)
TILE_FUNCTION(tile)(PARAMETERS, int tile, int y0, int plane) {
  const int image = plane / GROUPS, group = plane - image * GROUPS;
  const int x0 = min(tile * MX, OW - MX);
  const int left = x0 * STEP - LEFT, top = y0 * STRIDE_Y - TOP;
  const int steps = (KW + TAPS - 1) / TAPS, span = (MX - 1) * STEP + steps * TAPS;
  const uchar outside = (uchar)(ZP(X) ^ FLIP);

  // What the tile reads, as bytes without sign. All of it before the products: a load of what
  // several stores have just written waits for them.
  cell_t lines[LINES * LINE];
  for (int c = 0; c < IC; ++c) {
    for (int kh = 0; kh < KH; ++kh) {
      const int y = top + kh, from = ((image * IC + c) * IH + y) * IW + left;
      const bool row_inside = y >= 0 && y < IH;
      cell_t* line = lines + (c * KH + kh) * LINE;
      for (int i = 0; i < span; i += 16) {
        if (!row_inside) {
          PUT16(line + i, (uchar16)(outside));
        } else if (from + i >= 0 && from + i + 16 <= CELLS) {
          PUT16(line + i, TIMCL_BYTES(X + from + i) ^ (uchar)FLIP);
        } else {
          for (int k = i; k < i + 16; ++k)
            line[k] = from + k >= 0 && from + k < CELLS ? (uchar)(X[from + k] ^ FLIP) : outside;
        }
      }
      for (int i = 0; i < -left; ++i) line[i] = outside;
      for (int i = max(IW - left, 0); i < span; ++i) line[i] = outside;
    }
  }

  global const weight_t* w = (global const weight_t*)W + group * (IC * KH * NR) * steps;
  sum_t acc[MX][NV];
#pragma unroll
  for (int i = 0; i < MX; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) acc[i][j] = (sum_t)(0);
#pragma nounroll
  for (int l = 0; l < IC * KH; ++l) {
    const cell_t* x = lines + l * LINE;
#pragma nounroll
    for (int s = 0; s < steps; ++s) {
      sum_t weight[NV];
#pragma unroll
      for (int j = MEMORY; j < NV; ++j) weight[j] = WEIGHTS(j);
#pragma unroll
      for (int i = 0; i < MX; ++i) {
        const sum_t v = (sum_t)(TAPS_AT(x + i * STEP));
#pragma unroll
        for (int j = 0; j < MEMORY; ++j) MULTIPLY_ADD_MEMORY(acc[i][j], v, w + 16 * j);
#pragma unroll
        for (int j = MEMORY; j < NV; ++j) MULTIPLY_ADD(acc[i][j], v, weight[j]);
      }
      x += TAPS;
      w += NR;
    }
  }

  const int first = y0 * OW + x0;
#pragma unroll
  for (int j = 0; j < NV; ++j) {
    const int block = group * NV + j;
    if (block * 16 >= OC) continue;
    const float16 m = vload16(j, M + group * NR);
    const int16 bias = vload16(j, B + group * NR);
    const int to = (image * ((OC + 15) / 16) + block) * (OW * OH);
#define SUM_OF_FOUR(k) (convert_int16(acc[i + (k) < MX ? i + (k) : MX - 1][j]) + bias)
#pragma unroll
    for (int i = 0; i < MX; i += 4)
      STORE_PIXELS(Y, (to + first + i) * 16, (MX - i < 4 ? MX - i : 4), SUM_OF_FOUR, m);
  }
}
TILE_KERNEL(conv_stem8)(PARAMETERS) {
  FN(tile)(PASS(X), PASS(W), PASS(B), PASS(M), PASS(Y), IW, IH, IC, OW, OH, OC, KW, KH, STRIDE_Y, LEFT, TOP, GROUPS, CELLS, WORK_ITEM(0), WORK_ITEM(1), WORK_ITEM(2));
}
// clang-format on

// Convolution of an 8-bit tensor of few channels in plain form [images][IC][IH][IW] to blocked form
// (block8.clh): one work-item computes TILES tiles of MX neighbours along the width (OW >= MX) of
// NR = 16 * NV channels. Four taps along the width take the place of the four channels that
// conv_block8.cl multiplies at once, so that no input channel is wasted. STEP: the stride along the
// width; no dilation. FLIP: 0x80 where X is signed, else 0. CELLS: elements of X. PITCH: cells of a
// line of the window, as long as the work-item reads; IC * KH * PITCH <= ROOM.
//   W  [groups][IC][KH][KW / 4][NR][4] bytes (DOT 1), KW rounded up to fours; or
//   [groups][IC][KH][KW][NR] B, M  int and float [groups][NR]; B as in conv_block8.cl, for the
//   values without sign
// DOT 0: sums stay below 2^24.
// Global size: parts of TILES tiles along a row, rows, GROUPS * images.
#define NR (16 * NV)
#define ROWS MX
#include "tile8.clh"

#if DOT
#define cell_t uchar
typedef int __attribute__((aligned(1))) FN(taps_t);
#define taps_t FN(taps_t)
#define TAPS 4
#define TAPS_AT(x) *(const taps_t*)(x)
// So many cells are brought at once.
#define CHUNK 64
#define PUT(to, v) *(pixels4_t*)(to) = v
#define GET(from) (*(__global const pixels4_t*)(from) ^ (uint16)(FLIP * 0x01010101u))
#define OUTSIDE (uint16)(outside * 0x01010101u)
#else
#define cell_t float
#define TAPS 1
#define TAPS_AT(x) *(x)
#define CHUNK 16
#define PUT(to, v) vstore16(convert_float16(v), 0, to)
#define GET(from) (TIMCL_BYTES(from) ^ (uchar)FLIP)
#define OUTSIDE (uchar16)(outside)
#endif

// clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(B), DATA(M), OUT(Y), SIZE(IW), SIZE(IH), SIZE(IC), SIZE(OW), SIZE(OH), \
  SIZE(OC), SIZE(KW), SIZE(KH), SIZE(STRIDE_Y), SIZE(LEFT), SIZE(TOP), SIZE(GROUPS), SIZE(CELLS), SIZE(TILES), SIZE(PITCH)
TILE_FUNCTION(tile)(PARAMETERS, int part, int y0, int plane) {
  const int image = plane / GROUPS, group = plane - image * GROUPS;
  const int left = min(part * TILES * MX, OW - MX) * STEP - LEFT, top = y0 * STRIDE_Y - TOP;
  const int steps = (KW + TAPS - 1) / TAPS;
  const uchar outside = (uchar)(ZP(X) ^ FLIP);

  // What the work-item reads, as bytes without sign, each line with what the padding adds to it.
  // All of it before the products: a load of what several stores have just written waits for them.
  // Chunks overlap what the next ones write, and the room behind the last line.
  cell_t lines[ROOM + CHUNK];
  const int from_left = clamp(-left, 0, PITCH), to_right = clamp(IW - left, from_left, PITCH);
  for (int c = 0; c < IC; ++c) {
    for (int kh = 0; kh < KH; ++kh) {
      const int y = top + kh, from = ((image * IC + c) * IH + y) * IW + left;
      const bool inside = y >= 0 && y < IH;
      const int begin = inside ? from_left : 0, end = inside ? to_right : 0;
      cell_t* line = lines + (c * KH + kh) * PITCH;
      for (int i = 0; i < begin; i += CHUNK) PUT(line + i, OUTSIDE);
      for (int i = begin; i < end; i += CHUNK) {
        if (from + i + CHUNK <= CELLS) {
          PUT(line + i, GET(X + from + i));
        } else {
          for (int k = i; k < end; ++k) line[k] = (uchar)(X[from + k] ^ FLIP);
        }
      }
      for (int i = end; i < PITCH; i += CHUNK) PUT(line + i, OUTSIDE);
    }
  }

  for (int tile = part * TILES; tile < (part + 1) * TILES && tile * MX < OW; ++tile) {
    // The last tile of a row moves back to end with it.
    const int x0 = min(tile * MX, OW - MX), first = y0 * OW + x0;
    global const weight_t* w = (global const weight_t*)W + group * (IC * KH * NR) * steps;
    sum_t acc[MX][NV];
#pragma unroll
    for (int i = 0; i < MX; ++i)
#pragma unroll
      for (int j = 0; j < NV; ++j) acc[i][j] = FIRST(j, B + group * NR);
#pragma nounroll
    for (int l = 0; l < IC * KH; ++l) {
      const cell_t* x = lines + l * PITCH + (x0 * STEP - LEFT - left);
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

#if DOT
#define SUM(i) acc[i][j]
#else
#define SUM(i) (convert_int16(acc[i][j]) + vload16(j, B + group * NR))
#endif
#pragma unroll
    for (int j = 0; j < NV; ++j) {
      const int block = group * NV + j;
      if (block * 16 >= OC) continue;
      const float16 m = vload16(j, M + group * NR);
      const int to = (image * ((OC + 15) / 16) + block) * (OW * OH);
#define SUM_OF_FOUR(k) SUM(i + (k) < MX ? i + (k) : MX - 1)
#pragma unroll
      for (int i = 0; i < MX; i += 4)
        STORE_PIXELS(Y, (to + first + i) * 16, (MX - i < 4 ? MX - i : 4), SUM_OF_FOUR, m);
    }
  }
}
TILE_KERNEL(conv_stem8)(PARAMETERS) {
  FN(tile)(PASS(X), PASS(W), PASS(B), PASS(M), PASS(Y), IW, IH, IC, OW, OH, OC, KW, KH, STRIDE_Y, LEFT, TOP, GROUPS, CELLS, TILES, PITCH, WORK_ITEM(0), WORK_ITEM(1), WORK_ITEM(2));
}
// clang-format on

// Convolution of an 8-bit or (SHORTS 1) 16-bit tensor in blocked form (block8.clh): one work-item computes MX pixels of
// NR = 16 * NV channels. STEP 1, 2: neighbours along the width, OW >= MX, that stride, no dilation,
// KW <= WIDEST. 0: any window; the pixels are neighbours in the image as a line of OW * OH, and are
// gathered for each tap. A 1x1 window with stride 1 that moves over all pixels is one of a line of
// pixels, IW = OW = W * H. Outside of the image is the zero point, so that B = bias - zero point *
// sum of weights holds at the borders too.
//   W  [groups][blocks of input channels][KH][KW][channels of the block / TERMS][NR][TERMS] as
//      tile8.clh reads them, input channels rounded up to whole steps; zeros where there is no
//      channel
//   B, M  int (WIDE 1: long) and float [groups][NR]
// LIMIT (MOVES 1): so many terms have sums in the range of the tile; after that they move.
// Global size: tiles of pixels along a row, rows (STEP 0: all pixels, 1), GROUPS * images.
#define NR (16 * NV)
#define ROWS MX
#include "tile8.clh"
#if STEP
#define LINE ((MX - 1) * STEP + WIDEST)  // most pixels that a tile reads of a row
#else
#define LINE MX
#define APART 1
#endif
#if STEP
#define APART STEP
#endif

// Sums of one tap of the window: pixel i of the tile is APART * i pixels behind x.
#define STEPS(channels) (((channels) + TERMS - 1) / TERMS)
#define LANES (16 / TERMS)
#if DOT
#define PIXEL_t int  // the channels of a step
#elif SHORTS
#define PIXEL_t int
#else
#define PIXEL_t float
#endif
#if SHORTS
#define cells_t pixels2_t
#define OUTSIDE ((uint8)((ushort)ZP(X) * 0x00010001u))
#else
#define cells_t pixel_t
#define OUTSIDE ((uint4)(ZP(X) * 0x01010101))
#endif

// clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(B), DATA(M), OUT(Y), SIZE(IW), SIZE(IH), SIZE(IC), SIZE(OW), SIZE(OH), \
  SIZE(OC), SIZE(KW), SIZE(KH), SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(DILATION_X), SIZE(DILATION_Y), SIZE(LEFT), \
  SIZE(TOP), SIZE(GROUPS), SIZE(LIMIT)
TILE_FUNCTION(tile)(PARAMETERS, int tile, int y0, int part) {
  const int image = part / GROUPS, group = part - image * GROUPS;
  const int blocks = (IC + 15) / 16, pixels = OW * OH;
  global const X_t* plane = X + image * blocks * (IW * IH * 16);
  global const weight_t* w = (global const weight_t*)W + group * (KH * KW * NR) * STEPS(IC);
  const cells_t outside = OUTSIDE;

  // The last tile of a row moves back to end with it.
#if STEP
  const int x0 = min(tile * MX, OW - MX);
  const int left = x0 * STEP - LEFT, span = (MX - 1) * STEP + KW;
  const int first = y0 * OW + x0;
  const bool inside = left >= 0 && left + span <= IW;
#else
  const int first = max(min(tile * MX, pixels - MX), 0);
  int left[MX], top[MX];
#pragma unroll
  for (int i = 0; i < MX; ++i) {
    const int pixel = min(first + i, pixels - 1), y = pixel / OW;
    left[i] = (pixel - y * OW) * STRIDE_X - LEFT;
    top[i] = y * STRIDE_Y - TOP;
  }
#endif

  sum_t acc[MX][NV];
#pragma unroll
  for (int i = 0; i < MX; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) acc[i][j] = FIRST(j, B + group * NR);
#if MOVES
  whole_t total[MX][NV];
  int terms = 0;
  for (int i = 0; i < MX; ++i)
    for (int j = 0; j < NV; ++j) total[i][j] = vload16(j, B + group * NR);
#endif
  PIXEL_t __attribute__((aligned(64))) line[LINE * LANES];

  for (int c = 0; c < IC; c += 16) {
    const int steps = STEPS(min(IC - c, 16));
#pragma nounroll
    for (int kh = 0; kh < KH; ++kh) {
#if STEP
      const int y = y0 * STRIDE_Y - TOP + kh;
      global const X_t* row = plane + (y * IW + left) * 16;
      const bool row_inside = y >= 0 && y < IH;
#if DOT
      global const int* x = (global const int*)row;
      if (!(inside && row_inside)) {
        for (int i = 0; i < span; ++i) {
          const bool is = row_inside && left + i >= 0 && left + i < IW;
          ((cells_t*)line)[i] = is ? *(global const cells_t*)(row + i * 16) : outside;
        }
        x = AS_GLOBAL(line, const int);
      }
#else
      const PIXEL_t* x = line;
      for (int i = 0; i < span; ++i) {
        const bool is = row_inside && left + i >= 0 && left + i < IW;
        const cells_t v = is ? *(global const cells_t*)(row + i * 16) : outside;
        ((sum_t*)line)[i] = UNPACKED(v);
      }
#endif
#endif
#pragma nounroll
      for (int kw = 0; kw < KW; ++kw) {
#if !STEP
#pragma unroll
        for (int i = 0; i < MX; ++i) {
          const int ix = left[i] + kw * DILATION_X, iy = top[i] + kh * DILATION_Y;
          const bool is = ix >= 0 && ix < IW && iy >= 0 && iy < IH;
          const cells_t v = is ? *(global const cells_t*)(plane + (iy * IW + ix) * 16) : outside;
#if DOT
          ((cells_t*)line)[i] = v;
#else
          ((sum_t*)line)[i] = UNPACKED(v);
#endif
        }
#if DOT
        global const int* x = AS_GLOBAL(line, const int);
#else
        const PIXEL_t* x = line;
#endif
#endif
#pragma nounroll
        for (int s = 0; s < steps; ++s) {
          sum_t weight[NV];
#pragma unroll
          for (int j = MEMORY; j < NV; ++j) weight[j] = WEIGHTS(j);
#pragma unroll
          for (int i = 0; i < MX; ++i) {
            const sum_t v = (sum_t)(x[i * APART * LANES + s]);
#pragma unroll
            for (int j = 0; j < MEMORY; ++j) MULTIPLY_ADD_MEMORY(acc[i][j], v, w + 16 * j);
#pragma unroll
            for (int j = MEMORY; j < NV; ++j) MULTIPLY_ADD(acc[i][j], v, weight[j]);
          }
          w += NR;
        }
#if STEP
        x += LANES;
#endif
#if MOVES
        terms += 16;
        if (terms + 16 > LIMIT) {
          terms = 0;
          MOVE_SUMS(MX);
        }
#endif
      }
    }
    plane += IW * IH * 16;
  }

#define SUM(i) WHOLE(i, j)
#pragma unroll
  for (int j = 0; j < NV; ++j) {
    const int block = group * NV + j;
    if (block * 16 >= OC) continue;
    const float16 m = vload16(j, M + group * NR);
    const int to = (image * ((OC + 15) / 16) + block) * pixels + first;
#if STEP
#define SUM_OF_FOUR(k) SUM(i + (k) < MX ? i + (k) : MX - 1)
#pragma unroll
    for (int i = 0; i < MX; i += 4)
      STORE_PIXELS(Y, (to + i) * 16, (MX - i < 4 ? MX - i : 4), SUM_OF_FOUR, m);
#else
#pragma unroll
    for (int i = 0; i < MX; ++i)
      if (i < pixels) VSTORE_ACC(Y, (to + i) * 16, SUM(i), m);
#endif
  }
}
TILE_KERNEL(conv_block8)(PARAMETERS) {
  FN(tile)(PASS(X), PASS(W), PASS(B), PASS(M), PASS(Y), IW, IH, IC, OW, OH, OC, KW, KH, STRIDE_X, STRIDE_Y, DILATION_X, DILATION_Y, LEFT, TOP, GROUPS, LIMIT, WORK_ITEM(0), WORK_ITEM(1), WORK_ITEM(2));
}
// clang-format on

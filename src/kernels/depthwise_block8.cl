// Depthwise convolution of an 8-bit tensor in blocked form (block8.clh), as many output as input
// channels: one work-item computes a strip of MY rows, whole, of 16 channels. KW, KH, STEP (the
// stride in both directions) are defines. DOT 1: the same channel of four neighbours along the
// width is one operand of four products. Operands begin APART cells apart and serve all rows of the
// strip; each result takes USES of them, at one of PHASES offsets.
//   W  [blocks][KH][PHASES][USES][16][4] bytes, zeros around the taps
// DOT 0: W float [blocks][KH][KW][16]; sums stay below 2^24.
//   B, M  int and float [blocks][16]; B as in conv_block8.cl
// Global size: strips of MY rows, blocks * images.
#include "block8.clh"
#define PX 4  // results of a row at once
#if DOT
#define column_t int16
#define WEIGHT_t int
#define APART (KW <= 3 ? 2 : 4)
#define PHASES (APART / STEP)
#define USES ((APART - STEP + KW + 3) / 4)
#define FIRST_SUM bias
#define SUM(k) acc[t][k]
#define COLUMNS (((PX - 1) * STEP + (KW <= 3 ? 0 : KW - 1)) / APART + 1)
#define CELLS ((COLUMNS - 1) * APART + 4)  // neighbours along the width

// Four pixels of 16 channels to 16 channels of four pixels.
inline int16 FN(by_channel)(uint16 pixels) {
  uint16 v = EXCHANGE_FOURS(pixels);
  const uint4 order = (uint4)(0x0c080400, 0x0d090501, 0x0e0a0602, 0x0f0b0703);
  __asm__("vpshufb %1,%0,%0" : "+v"(v) : "v"((uint16)(order, order, order, order)));
  return as_int16(v);
}
#else
#define column_t float16
#define WEIGHT_t float
#define FIRST_SUM 0
#define SUM(k) (convert_int16(acc[t][k]) + bias)
#define COLUMNS ((PX - 1) * STEP + KW)
#define CELLS COLUMNS
#endif

// clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(B), DATA(M), OUT(Y), SIZE(IW), SIZE(IH), SIZE(OW), SIZE(OH), \
  SIZE(BLOCKS), SIZE(LEFT), SIZE(TOP)
TILE_FUNCTION(tile)(PARAMETERS, int strip, int plane, int planes) {
  const int y0 = strip * MY, block = plane % BLOCKS;
  const int top = y0 * STEP - TOP;
  const int all = planes * IW * IH;
  const int16 bias = vload16(block, B);
  const float16 m = vload16(block, M);
  const pixel_t outside = (uint4)(ZP(X) * 0x01010101);
#if DOT
  global const int* w = (global const int*)W + block * (KH * PHASES * USES * 16);
#else
  global const float* w = W + block * (KH * KW * 16);
#endif

  for (int x0 = 0; x0 < OW; x0 += PX) {
    const int left = x0 * STEP - LEFT;
#if DOT
    uint16 cell[COLUMNS];  // along the width, of each lane of an operand as it lies in memory
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i)
      cell[i] = (uint)(left + i * APART) + (uint16)(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
#else
    const bool inside = left >= 0 && left + CELLS <= IW;
#endif
    column_t acc[MY][PX];
#pragma unroll
    for (int t = 0; t < MY; ++t)
#pragma unroll
      for (int i = 0; i < PX; ++i) acc[t][i] = FIRST_SUM;
#pragma unroll
    for (int r = 0; r < (MY - 1) * STEP + KH; ++r) {
      const int y = top + r;
      const bool row_inside = y >= 0 && y < IH;
      const int from = (plane * IH + y) * IW + left;
      global const pixel_t* row = (global const pixel_t*)(X + from * 16);
      pixel_t line[CELLS];
      column_t column[COLUMNS];
#if DOT
      if (row_inside) {
        // Reads past either end of a row meet the neighbouring row, but at the ends of the tensor.
        if (from < 0 || from + CELLS > all) {
          for (int i = 0; i < CELLS; ++i)
            if (from + i >= 0 && from + i < all) line[i] = row[i];
          row = AS_GLOBAL(line, const pixel_t);
        }
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) {
          const uint16 pixels = *(global const pixels4_t*)(row + APART * i);
          column[i] = FN(by_channel)(cell[i] < (uint16)(IW) ? pixels : outside.s0123012301230123);
        }
      } else {
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) column[i] = as_int16(outside.s0123012301230123);
      }
#else
      if (!(inside && row_inside)) {
        for (int i = 0; i < CELLS; ++i)
          line[i] = row_inside && left + i >= 0 && left + i < IW ? row[i] : outside;
        row = AS_GLOBAL(line, const pixel_t);
      }
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i) column[i] = CONVERT_TO(float16, as_uchar16(row[i]));
#endif
#pragma unroll
      for (int t = 0; t < MY; ++t) {
        const int kh = r - t * STEP;
        if (kh < 0 || kh >= KH) continue;
#pragma unroll
        for (int i = 0; i < PX; ++i) {
#if DOT
          const int phase = i * STEP % APART;
#pragma unroll
          for (int u = 0; u < USES; ++u) {
            if (4 * u >= phase + KW) continue;
            const int16 weight = vload16((kh * PHASES + phase / STEP) * USES + u, w);
            DOT4(acc[t][i], column[i * STEP / APART + u], weight);
          }
#else
#pragma unroll
          for (int kw = 0; kw < KW; ++kw)
            acc[t][i] = FMA(column[i * STEP + kw], TIMCL_FLOATS(w + 16 * (kh * KW + kw)), acc[t][i]);
#endif
        }
      }
    }
    const int count = min(OW - x0, PX);
#pragma unroll
    for (int t = 0; t < MY; ++t) {
      if (y0 + t >= OH) continue;
      const int to = (plane * OH + y0 + t) * OW + x0;
      if (count == PX) {
        STORE_PIXELS(Y, to * 16, PX, SUM, m);
      } else {
#pragma unroll
        for (int i = 0; i < PX - 1; ++i)
          if (i < count) VSTORE_ACC(Y, (to + i) * 16, SUM(i), m);
      }
    }
  }
}
TILE_KERNEL(depthwise_block8)(PARAMETERS) {
  FN(tile)(PASS(X), PASS(W), PASS(B), PASS(M), PASS(Y), IW, IH, OW, OH, BLOCKS, LEFT, TOP, WORK_ITEM(0), WORK_ITEM(1), WORK_ITEMS(1));
}
// clang-format on

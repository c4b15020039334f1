// Depthwise convolution between blocked tensors, X [images][BLOCKS][IH][IW][16] and Y likewise,
// fp32 or half: one work-item computes rows of one block of channels in tiles of MX x MY pixels.
// STRIDE: both strides, for windows of K x K without dilation that reach at most K / 2 beyond the
//   image and OW >= MX; a work-item computes ROWS rows, a multiple of MY. 0: any window, MY 1.
//   W [BLOCKS][KH][KW][16], bias [BLOCKS][16]
// Channels past the last one are computed too; nobody reads them.
// Global size: ceil(OH / ROWS), BLOCKS, images.
#include "block_tile.clh"
#define NV 1
#define OC (blocks * 16)

#if STRIDE
#define WIDE ((MX - 1) * STRIDE + K)  // pixels that a tile reads of a line
#define TALL ((MY - 1) * STRIDE + K)  // lines that it reads
#define EDGE \
  (K / 2)  // pixels at either end that may lie outside of the image
           // clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(bias), OUT(Y), SIZE(IW), SIZE(IH), SIZE(OW), SIZE(OH), SIZE(LEFT), SIZE(TOP), SIZE(ROWS)
// clang-format on
TILE_FUNCTION(strip)(PARAMETERS, int strip, int block, int blocks, int image) {
  const int plane = image * blocks + block;
  const int first_y = strip * ROWS;
  float16 w[K * K];
#pragma unroll
  for (int k = 0; k < K * K; ++k) w[k] = LOAD16(W + (block * K * K + k) * 16);
  const float16 b = LOAD16(bias + block * 16);
  float16 zeros[WIDE];
#pragma nounroll
  for (int i = 0; i < WIDE; ++i) zeros[i] = ZERO16;

#pragma nounroll
  for (int y0 = first_y; y0 < min(first_y + ROWS, OH); y0 += MY) {
#pragma nounroll
    for (int own_x = 0; own_x < OW; own_x += MX) {
      // The last tile moves back to end with the image, but stores only what is its own.
      const int x0 = min(own_x, OW - MX), left = x0 * STRIDE - LEFT, top = y0 * STRIDE - TOP;
      global const X_t* line[TALL];
#pragma unroll
      for (int r = 0; r < TALL; ++r)
        line[r] = top + r >= 0 && top + r < IH ? X + ((plane * IH + top + r) * IW + left) * 16
                                               : (global const X_t*)AS_GLOBAL(zeros);
      // Pixels at the ends that lie outside are read from the nearest one, and blanked out.
      int16 keep[2 * EDGE];
      int from[2 * EDGE];
#pragma unroll
      for (int e = 0; e < 2 * EDGE; ++e) {
        const int u = e < EDGE ? e : WIDE - 2 * EDGE + e;
        keep[e] = (int16)(left + u >= 0 && left + u < IW ? -1 : 0);
        from[e] = (clamp(left + u, 0, IW - 1) - left) * 16;
      }
      float16 acc[MY * MX][1];
#pragma unroll
      for (int r = 0; r < MY; ++r)
#pragma unroll
        for (int i = 0; i < MX; ++i) acc[r * MX + i][0] = b;
#pragma unroll
      for (int v = 0; v < TALL; ++v)
#pragma unroll
        for (int u = 0; u < WIDE; ++u) {
          const int e = u < EDGE ? u : u - WIDE + 2 * EDGE;
          const float16 x = u < EDGE || u >= WIDE - EDGE
                                ? as_float16(as_int16(READ16(line[v] + from[e])) & keep[e])
                                : READ16(line[v] + u * 16);
#pragma unroll
          for (int r = 0; r < MY; ++r)
#pragma unroll
            for (int i = 0; i < MX; ++i) {
              const int kh = v - r * STRIDE, kw = u - i * STRIDE;
              if (kh >= 0 && kh < K && kw >= 0 && kw < K)
                acc[r * MX + i][0] = FMA(x, w[kh * K + kw], acc[r * MX + i][0]);
            }
        }
      STORE_TILE(acc, image, block, x0, y0, own_x, y0);
    }
  }
}
TILE_KERNEL(depthwise_block)(PARAMETERS) {
  FN(strip)
  (PASS(X), PASS(W), PASS(bias), PASS(Y), IW, IH, OW, OH, LEFT, TOP, ROWS, WORK_ITEM(0),
   WORK_ITEM(1), WORK_ITEMS(1), WORK_ITEM(2));
}
#else
// clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(bias), OUT(Y), SIZE(IW), SIZE(IH), SIZE(OW), SIZE(OH), SIZE(LEFT), SIZE(TOP), SIZE(KW), SIZE(KH), SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(DILATION_X), SIZE(DILATION_Y)
// clang-format on
TILE_FUNCTION(strip)(PARAMETERS, int strip, int block, int blocks, int image) {
  const int plane = image * blocks + block;
  const int y0 = strip, top = y0 * STRIDE_Y - TOP;
  const float16 b = LOAD16(bias + block * 16);
#pragma nounroll
  for (int own_x = 0; own_x < OW; own_x += MX) {
    const int x0 = max(min(own_x, OW - MX), 0), left = x0 * STRIDE_X - LEFT;
    float16 acc[MY * MX][1];
#pragma unroll
    for (int i = 0; i < MX; ++i) acc[i][0] = b;
#pragma nounroll
    for (int kh = 0; kh < KH; ++kh) {
      const int y = top + kh * DILATION_Y;
      if (y < 0 || y >= IH) continue;
#pragma nounroll
      for (int kw = 0; kw < KW; ++kw) {
        const int ix = left + kw * DILATION_X;
        const float16 w = LOAD16(W + ((block * KH + kh) * KW + kw) * 16);
        global const X_t* from = X + ((plane * IH + y) * IW + ix) * 16;
        if (ix >= 0 && ix + (MX - 1) * STRIDE_X < IW) {
#pragma unroll
          for (int i = 0; i < MX; ++i)
            acc[i][0] = FMA(READ16(from + i * STRIDE_X * 16), w, acc[i][0]);
        } else {
#pragma unroll
          for (int i = 0; i < MX; ++i)
            if (ix + i * STRIDE_X >= 0 && ix + i * STRIDE_X < IW)
              acc[i][0] = FMA(READ16(from + i * STRIDE_X * 16), w, acc[i][0]);
        }
      }
    }
    STORE_TILE(acc, image, block, x0, y0, own_x, y0);
  }
}
TILE_KERNEL(depthwise_block)(PARAMETERS) {
  FN(strip)
  (PASS(X), PASS(W), PASS(bias), PASS(Y), IW, IH, OW, OH, LEFT, TOP, KW, KH, STRIDE_X, STRIDE_Y,
   DILATION_X, DILATION_Y, WORK_ITEM(0), WORK_ITEM(1), WORK_ITEMS(1), WORK_ITEM(2));
}
#endif

// Pooling of plain tensors, X [planes][IH][IW] to Y [planes][OH][OW] of LINES = planes * OH lines, 16 neighbours at a time.
// TYPE: 0 maximum, 1 average of the whole window, 2 root of the mean square, 3 average of the real cells.
// STEP: the stride along the width if it is 1 or 2. Else 0: all positions that a stride of 1 would have are computed, and
// every STRIDE_X-th is a result.
//
// Rows of cells lie between pads in private memory, PITCH apart, so that no tap needs a guard: those of X, which are added in
// the order of the reference, or, of a maximum, one for each line of Y that has the largest of its rows. Results stay in
// private memory until all are there: they are neighbours in Y, whose last vector alone may be part of one.
//
// One work-item computes PART results (the last of PARTS less) of RUN lines, of which RUN or PARTS is 1, up to BLOCK lines at
// a time. SAFE: where the last vector of X begins.
// Global size: PARTS, ceil(LINES / RUN).
#include "registers.clh"
#include "tensor.clh"
#define CELLS 8192    // pool2d.cc knows it, too
#define RESULTS 1024  // likewise
#define GET(p) (*(const FN(unaligned16)*)(p))
#define KEEP(p, v) (*(FN(unaligned16)*)(p) = (v))
#if TYPE == 0
#define NEUTRAL (-INFINITY)
// A comparison drops a NaN, unless it is in r.
#define TAKE(r, v) r = (v) == (v) ? ((v) > r ? (v) : r) : (v)
#define ROW_HEIGHT KH
#define ROW_STEP STRIDE_Y
#else
#define NEUTRAL 0.0f
#define TAKE(r, v) r += (v)
#define ROW_HEIGHT 1
#define ROW_STEP 1
#endif
#define CELL(v) (TYPE == 2 ? (v) * (v) : (v))

// What is made of the sums r of windows of `high` real rows, the first of which begins at column `left` of IW.
inline float16 FN(finished)(float16 r, int left, int stride, int high, int IW, int KW, int KH) {
#if TYPE == 1
  return r / (float)(KW * KH);
#elif TYPE == 2
  return sqrt(r / (float)(KW * KH));
#elif TYPE == 3
  const int16 at = left + (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) * stride;
  const int16 wide = max(min(at + KW, (int16)(IW)) - max(at, (int16)(0)), (int16)(0));
  return r / convert_float16(max(wide * max(high, 0), (int16)(1)));
#else
  return r;
#endif
}

// clang-format off
TILE_KERNEL(pool_rows)(IN(X), OUT(Y), SIZE(IW), SIZE(IH), SIZE(KW), SIZE(KH), SIZE(OW), SIZE(OH), SIZE(STRIDE_X), SIZE(STRIDE_Y),
SIZE(LEFT), SIZE(TOP), SIZE(PARTS), SIZE(PART), SIZE(LINES), SIZE(RUN), SIZE(BLOCK), SIZE(PITCH), SIZE(SAFE)) {
  // clang-format on
  float __attribute__((aligned(64))) cell[CELLS + 16];
  float __attribute__((aligned(64))) result[RESULTS + 16];
  const int x0 = WORK_ITEM(0) * PART, count = min(PART, OW - x0), left = x0 * STRIDE_X - LEFT;
  const int first = WORK_ITEM(1) * RUN, last = min(first + RUN, LINES);
#if STEP
  const int positions = count;
#else
  float __attribute__((aligned(64))) all[CELLS + 16];
  const int positions = (count - 1) * STRIDE_X + 1;
#endif
  // The cells of a row that are those of X.
  const int begin = min(max(-left, 0), PITCH), end = max(min(PITCH, IW - left), begin);
  float* to = result;
  for (int line = first, lines; line < last; line += lines) {
    const int plane = line / OH, from_line = line - plane * OH;
    lines = min(min(BLOCK, last - line), OH - from_line);
    const int top = from_line * STRIDE_Y - TOP;
    const int rows = TYPE == 0 ? lines : (lines - 1) * STRIDE_Y + KH;
    for (int row = 0; row < rows; ++row) {
      float* const kept = cell + row * PITCH;
      const int y = top + row * ROW_STEP, y0 = max(y, 0), y1 = min(y + ROW_HEIGHT, IH);
      const int from = plane * IH * IW + left, safe = SAFE - from - (y1 - 1) * IW;
      int i = 0;
      for (; i < begin; i += 16) KEEP(kept + i, (float16)(NEUTRAL));
      for (i = begin; i < end && i <= safe; i += 16) {
        float16 r = NEUTRAL;
        for (int at = from + i + y0 * IW, stop = from + i + y1 * IW; at < stop; at += IW) {
          const float16 v = VLOAD(X, at);
          TAKE(r, CELL(v));
        }
        KEEP(kept + i, r);
      }
      for (; i < end; ++i) {
        float r = NEUTRAL;
        for (int at = from + i + y0 * IW, stop = from + i + y1 * IW; at < stop; at += IW) {
          const float v = LOAD(X, at);
          TAKE(r, CELL(v));
        }
        kept[i] = r;
      }
      for (i = end; i < PITCH; i += 16) KEEP(kept + i, (float16)(NEUTRAL));
    }
    for (int l = 0; l < lines; ++l, to += count) {
      const int y = top + l * STRIDE_Y, high = min(y + KH, IH) - max(y, 0);
      for (int x = 0; x < positions; x += 16) {
        float16 r = NEUTRAL;
#if TYPE == 0
        const float* at = cell + l * PITCH + x * (STEP ? STEP : 1);
        {
#else
        const float* at = cell + l * STRIDE_Y * PITCH + x * (STEP ? STEP : 1);
        for (int row = 0; row < KH; ++row, at += PITCH) {
#endif
#if STEP == 2
          int k = 0;
          for (; k < KW - 1; k += 2) {
            const float16 a = GET(at + k), b = GET(at + k + 16);
            const float16 even = (float16)(a.even, b.even), odd = (float16)(a.odd, b.odd);
            TAKE(r, even);
            TAKE(r, odd);
          }
          if (k < KW) {
            const float16 a = GET(at + k), b = GET(at + k + 16);
            const float16 even = (float16)(a.even, b.even);
            TAKE(r, even);
          }
#else
          for (int k = 0; k < KW; ++k) {
            const float16 v = GET(at + k);
            TAKE(r, v);
          }
#endif
        }
#if STEP
        KEEP(to + x, FN(finished)(r, left + x * STRIDE_X, STRIDE_X, high, IW, KW, KH));
#else
        KEEP(all + x, r);
#endif
      }
#if !STEP
      for (int x = 0; x < count; ++x) to[x] = all[x * STRIDE_X];
      for (int x = 0; x < count; x += 16)
        KEEP(to + x, FN(finished)(GET(to + x), left + x * STRIDE_X, STRIDE_X, high, IW, KW, KH));
#endif
    }
  }
  const int base = first * OW + x0, results = to - result;
  int i = 0;
  for (; i + 16 <= results; i += 16) VSTORE(Y, base + i, GET(result + i));
  for (; i < results; ++i) STORE(Y, base + i, result[i]);
}

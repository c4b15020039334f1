// Convolution between plain tensors, X [images][IC][ID][IH][IW] and Y [images][OC][OD][OH][OW], of
// any window, in groups, or transposed; weighted_sum.h says what GROUP is. INTEGERS 0: each float32
// or half, with sums in float32. 1: quantized tensors of 8 or 16 bits with exact sums, whose DOT,
// SHORTS and WIDE tile8.clh names; with DOT, X of 8 bits is SHORTS, too.
//
// One work-item computes a strip of ROWS x COLS positions of one slice, CHUNK channels of a group.
// It copies the cells that the strip reads, minus the zero point, pads as zeros, so that the taps
// of a row of neighbours are neighbours: PLANES planes of PLANE_ROWS x PITCH cells for each input
// channel and kernel slice, a plane for each remainder of a tap's distance by STEP. Then 16 * NV
// positions of the strip, whose rows are PITCH apart, and MR channels at a time are summed in vector
// registers, so that MR * NV + NV + 1 must not exceed their number (32).
//
// TERMS 2: a cell has two halves of 16 bits, which one instruction multiplies and adds: JOINED 2: of
// two neighbouring input channels; 1: of two neighbouring taps, whose sum is then one tap of a plane.
// USED pairs of the CHANNELS input channels, or channels, of a group are summed.
//
// A transposed window of stride s is s windows of stride 1, each with every s-th tap: a position
// has SPREAD_X x SPREAD_Y results, its phases, which lie side by side in Y; the first SKIP_X, SKIP_Y
// of them lie before it. Others have one phase.
//
//   W [groups][ceil(GROUP / MR)][phases][USED][KD][taps of the phase][MR] cells, TAPS taps in all
//   phases; bias [groups][ceil(GROUP / MR)][MR]; both padded with zeros.
//   M: float [OC], of INTEGERS.
//   T: for each plane the row, and for each half of a cell the column, of its first cell, for each
//   phase its first tap, TAPS, and for each tap where the cell of the first position lies in the
//   copy of one channel.
// The planes of BLOCK pairs of channel and kernel slice are copied at once: [PLANES][BLOCK][plane].
// With MOVES (tile8.clh) so many have sums in the range of the tile.
// SAFE: from this element of X on, fewer than 16 are left.
// Global size: ACROSS * DOWN strips of each of OD slices; groups * ceil(GROUP / CHUNK); images.
#include "block.clh"
#if INTEGERS
#include "tile8.clh"
#define MULTIPLIERS DATA(M),
#define PASS_MULTIPLIERS PASS(M),
#if DOT || SHORTS
#define cell_t int
#define CELLS16(i) (VRAW(X, i) - ZP(X))
#else
#define cell_t float
#define CELLS16(i) convert_float16(VRAW(X, i) - ZP(X))
#endif
#define CELL(i) (cell_t)(RAW(X, i) - ZP(X))
#else
#define TERMS 1
#define MOVES 0
#define JOINED 1
#define MULTIPLIERS
#define PASS_MULTIPLIERS
#define cell_t float
#define sum_t float16
#define whole_t float16
#define whole_lane_t float
#if X_HALF
#define CELLS16(i) VLOAD(X, i)
#else
#define CELLS16(i) LOAD16(X + (i))
#endif
#define CELL(i) LOAD(X, i)
#define MULTIPLY_ADD(sum, x, w) sum = FMA(x, w, sum)
#endif
#define NR (16 * NV)
#define MOST_CELLS 8192  // copied
// Of all channels and phases.
#if WIDE
#define MOST_SUMS 8192
#else
#define MOST_SUMS 16384
#endif
#define MOST_STORED 2048  // results of one channel
// Sixteen cells, or whole sums, at any of their addresses.
typedef sum_t __attribute__((aligned(4))) FN(cells_t);
#define GET_CELLS(p) (*(global const FN(cells_t)*)(p))
#define PUT_CELLS(v, p) (*(global FN(cells_t)*)(p) = (v))
typedef whole_t __attribute__((aligned(sizeof(whole_lane_t)))) FN(wholes_t);
#define GET_SUMS(p) (*(global const FN(wholes_t)*)(p))
#define PUT_SUMS(v, p) (*(global FN(wholes_t)*)(p) = (v))
// Private memory as global memory: CPUs, which alone run these kernels, have one address space.
#define AS_CELLS(p) ((global cell_t*)(uintptr_t)(p))
#define AS_SUMS(p) ((global whole_lane_t*)(uintptr_t)(p))
#define LINE_OF(type) (64 / (int)sizeof(type))  // elements of a line of the cache
// Does `step` for each sum acc[i][j] of a tile.
#define EACH_SUM(step)                           \
  _Pragma("unroll") for (int i = 0; i < MR; ++i) \
      _Pragma("unroll") for (int j = 0; j < NV; ++j) step;
// What the lower half of a cell, or all of it, becomes, or the upper half.
#if TERMS == 2
#define LAY(v, p) PUT_CELLS(half_of == 0 ? (v) : (GET_CELLS(p) & 0xffff) | (v) << 16, p)
#define LAY_ONE(v, p) *(p) = half_of == 0 ? (v) : (*(p)&0xffff) | (v) << 16
#else
#define LAY(v, p) PUT_CELLS(v, p)
#define LAY_ONE(v, p) *(p) = (v)
#endif

// Cells `begin` to `end` of a line of `count` cells, which are `step` apart in X, the first at `at`;
// zeros around them. May write up to 15 cells more, which are written later, or never read. The
// lower halves must be written before the upper ones.
inline void FN(copy_line)(IN(X), int at, int step, int begin, int end, int count, int SAFE,
                          int half_of, global cell_t* to) {
  const sum_t zero = 0;
  for (int i = 0; i < begin; i += 16) LAY(zero, to + i);
  int i = begin;
  if (step == 1) {
    for (; i < end && at + i < SAFE; i += 16) LAY(CELLS16(at + i), to + i);
  } else if (step == 2) {
    for (; i < end && at + 2 * i + 16 < SAFE; i += 16) {
      const sum_t a = CELLS16(at + 2 * i), b = CELLS16(at + 2 * i + 16);
      LAY(((sum_t)(a.even, b.even)), to + i);
    }
  }
#pragma nounroll
  for (; i < end; ++i) LAY_ONE(CELL(at + i * step), to + i);
  for (i = end; i < count; i += 16) LAY(zero, to + i);
}

// clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(bias), DATA(T), MULTIPLIERS OUT(Y), SIZE(SAFE), SIZE(IW), SIZE(IH), SIZE(ID), SIZE(IC), SIZE(OW), \
  SIZE(OH), SIZE(OD), SIZE(OC), SIZE(CHANNELS), SIZE(USED), SIZE(GROUP), SIZE(KD), SIZE(STRIDE_Z), SIZE(DILATION_Z), SIZE(FRONT), SIZE(STEP_X), \
  SIZE(STEP_Y), SIZE(SPREAD_X), SIZE(SPREAD_Y), SIZE(SKIP_X), SIZE(SKIP_Y), SIZE(PLANES), SIZE(PLANE_ROWS), SIZE(PITCH), \
  SIZE(TAPS), SIZE(ROWS), SIZE(COLS), SIZE(ACROSS), SIZE(DOWN), SIZE(CHUNK), SIZE(BLOCK)
// clang-format on
TILE_FUNCTION(tile)(PARAMETERS, int strip, int part, int image) {
  const int x0 = strip % ACROSS * COLS, y0 = strip / ACROSS % DOWN * ROWS;
  const int slice = strip / (ACROSS * DOWN), z0 = slice * STRIDE_Z - FRONT;
  const int parts = (GROUP + CHUNK - 1) / CHUNK, group = part / parts;
  const int own = (part - group * parts) * CHUNK, first = group * GROUP + own;
  const int channels = min(min(CHUNK, GROUP - own), OC - first);
  const int plane = PLANE_ROWS * PITCH, pairs = USED * KD, phases = SPREAD_X * SPREAD_Y;
  const int tiles = ((ROWS - 1) * PITCH + COLS + NR - 1) / NR, flat = tiles * NR;
  const int packed = group * ((GROUP + MR - 1) / MR * MR) + own;  // in W and bias
  global const int* starts = T + (1 + TERMS) * PLANES;
  global const int* offsets = starts + phases + 1;

  // The results of the strip in Y: rows y1 to y2 of columns x1 to x2.
  const int left = x0 * SPREAD_X - SKIP_X, top = y0 * SPREAD_Y - SKIP_Y;
  const int x1 = max(left, 0), x2 = min(left + COLS * SPREAD_X, OW), wide = x2 - x1;
  const int y1 = max(top, 0), y2 = min(top + ROWS * SPREAD_Y, OH);
  // Whole rows lie behind one another.
  const int runs = wide == OW ? 1 : y2 - y1, run = wide == OW ? (y2 - y1) * wide : wide;
  const int channel = OD * OH * OW;
  const int corner = (image * OC + first) * channel + (slice * OH + y1) * OW + x1;
  // What the next strip reads, and the room for the results, come from memory while this strip is
  // summed: each tile fetches its share, `read` and `room` lines of the cache of each channel.
  const int ahead = KD > 1 ? 0 : ACROSS > 1 ? COLS * STEP_X : ROWS * STEP_Y * IW;
  const int line_x = LINE_OF(X_t), line_y = LINE_OF(Y_t);
  const int read = (ahead + tiles * line_x - 1) / (tiles * line_x);
  const int room = ((y2 - y1) * wide + phases * tiles * line_y - 1) / (phases * tiles * line_y);

  cell_t copy[MOST_CELLS + NR + 16] __attribute__((aligned(64)));
  whole_lane_t sums[MOST_SUMS + 16] __attribute__((aligned(64)));
  whole_lane_t line[MOST_STORED + 32] __attribute__((aligned(64)));
  for (int block = 0; block < pairs; block += BLOCK) {
    const int together = min(BLOCK, pairs - block);
    for (int p = 0; p < PLANES; ++p) {
      global const int* origin = T + (1 + TERMS) * p;
      const int iy0 = origin[0] + y0 * STEP_Y;
      int ix0[TERMS], begin[TERMS], end[TERMS];
#pragma unroll
      for (int h = 0; h < TERMS; ++h) {
        const int first_x = origin[1 + h] + x0 * STEP_X;
        ix0[h] = first_x;
        begin[h] = min(first_x < 0 ? (STEP_X - 1 - first_x) / STEP_X : 0, PITCH);
        end[h] = clamp(first_x < IW ? (IW - 1 - first_x) / STEP_X + 1 : 0, begin[h], PITCH);
      }
      global cell_t* to = AS_CELLS(copy) + p * BLOCK * plane;
      int u = block / KD * JOINED, kd = block % KD;
      for (int c = 0; c < together; ++c) {
        const int iz = z0 + kd * DILATION_Z;
        const int row = ((image * IC + group * CHANNELS + u) * ID + iz) * IH + iy0;
        for (int r = 0; r < PLANE_ROWS; ++r, to += PITCH) {
          const int iy = iy0 + r * STEP_Y;
          const bool inside = iz >= 0 && iz < ID && iy >= 0 && iy < IH;
#pragma unroll
          for (int h = 0; h < TERMS; ++h) {
            const int other = h * (JOINED - 1);
            const bool is = inside && u + other < CHANNELS;
            FN(copy_line)
            (PASS(X), (row + other * ID * IH + r * STEP_Y) * IW + ix0[h], STEP_X,
             is ? begin[h] : PITCH, is ? end[h] : PITCH, PITCH, SAFE, h, to);
          }
        }
        if (++kd == KD) kd = 0, u += JOINED;
      }
    }
    for (int o = 0; o < channels; o += MR) {
      for (int phase = 0; phase < phases; ++phase) {
        const int begin = starts[phase], end = starts[phase + 1];
        global const cell_t* weights = (global const cell_t*)W + (packed + o) * pairs * TAPS +
                                       (pairs * begin + block * (end - begin)) * MR;
        for (int t = 0; t < tiles; ++t) {
          global whole_lane_t* sum = AS_SUMS(sums) + (o * phases + phase) * flat + t * NR;
#define SUM_AT(i, j) (sum + (i)*phases * flat + (j)*16)
          sum_t acc[MR][NV];
#if MOVES
          EACH_SUM(acc[i][j] = 0)
#else
          if (block == 0) {
            EACH_SUM(acc[i][j] = (sum_t)(bias[packed + o + i]))
          } else {
            EACH_SUM(acc[i][j] = GET_SUMS(SUM_AT(i, j)))
          }
#endif
          global const cell_t* w = weights;
          global const cell_t* cells = AS_CELLS(copy) + t * NR;
          if (block + BLOCK >= pairs) {
            global const Y_t* y = Y + corner + o * channel + (phase * tiles + t) * room * line_y;
#pragma nounroll
            for (int i = 0; i < MR * room; ++i)
              PREFETCH(y + i / room * channel + i % room * line_y, 0);
          }
          const int unread = image * IC + group * CHANNELS + block * JOINED;
          global const X_t* next =
              X + (unread * IH + y0 * STEP_Y) * IW + x0 * STEP_X + ahead + t * read * line_x;
          for (int c = 0; c < together; ++c, cells += plane, next += JOINED * IH * IW) {
#pragma nounroll
            for (int i = o + phase == 0 ? read * JOINED : 0; --i >= 0;)
              PREFETCH(next + i % JOINED * IH * IW + i / JOINED * line_x, 0);
#pragma nounroll
            for (int k = begin; k < end; ++k) {
              global const cell_t* from = cells + offsets[k];
              sum_t v[NV];
#pragma unroll
              for (int j = 0; j < NV; ++j) v[j] = GET_CELLS(from + j * 16);
#pragma unroll
              for (int i = 0; i < MR; ++i) {
                const sum_t spread = (sum_t)(w[i]);
#pragma unroll
                for (int j = 0; j < NV; ++j) MULTIPLY_ADD(acc[i][j], v[j], spread);
              }
              w += MR;
            }
          }
#if MOVES
          if (block == 0) {
            EACH_SUM(PUT_SUMS(AS_WHOLE(acc[i][j]) + bias[packed + o + i], SUM_AT(i, j)))
          } else {
            EACH_SUM(PUT_SUMS(AS_WHOLE(acc[i][j]) + GET_SUMS(SUM_AT(i, j)), SUM_AT(i, j)))
          }
#else
          EACH_SUM(PUT_SUMS(acc[i][j], SUM_AT(i, j)))
#endif
        }
      }
    }
  }

  for (int o = 0; o < channels; ++o) {
    global whole_lane_t* to = AS_SUMS(line);
    for (int y = y1; y < y2; ++y, to += wide) {
      const int r = (y - top) / SPREAD_Y, phase = (y - top - r * SPREAD_Y) * SPREAD_X;
      global const whole_lane_t* sum = AS_SUMS(sums) + (o * phases + phase) * flat + r * PITCH;
      if (SPREAD_X == 1) {
        for (int x = 0; x < wide; x += 16) PUT_SUMS(GET_SUMS(sum + x), to + x);
        continue;
      }
#if !WIDE
      if (SPREAD_X == 2) {
        int c = x1 - left;
        if (c == 1) to[0] = sum[flat];
        for (; left + 2 * c < x2; c += 16) {
          const float16 a = as_float16(GET_SUMS(sum + c)), b = as_float16(GET_SUMS(sum + flat + c));
          STORE16(LOW16(a, b), (global float*)to + (left + 2 * c - x1));
          STORE16(HIGH16(a, b), (global float*)to + (left + 2 * c - x1 + 16));
        }
        continue;
      }
#endif
      for (int p = 0; p < SPREAD_X; ++p) {
        const int from = p < x1 - left ? (x1 - left - p + SPREAD_X - 1) / SPREAD_X : 0;
#pragma nounroll
        for (int x = from * SPREAD_X + p + left, c = from; x < x2; x += SPREAD_X, ++c)
          to[x - x1] = sum[p * flat + c];
      }
    }
    for (int r = 0; r < runs; ++r) {
      const int at = corner + o * channel + r * OW;
      const whole_lane_t* v = line + r * wide;
      int i = 0;
#if INTEGERS
      const float m = M[first + o];
      for (; i + 16 <= run; i += 16)
        VSTORE_ACC(Y, at + i, GET_SUMS(AS_SUMS(v) + i), m);
#pragma nounroll
      for (; i < run; ++i) STORE_ACC(Y, at + i, v[i], m);
#else
      for (; i + 16 <= run; i += 16)
        VSTORE(Y, at + i, GET_SUMS(AS_SUMS(v) + i));
#pragma nounroll
      for (; i < run; ++i) STORE(Y, at + i, v[i]);
#endif
    }
  }
}
TILE_KERNEL(conv_window)(PARAMETERS) {
  FN(tile)
  (PASS(X), PASS(W), PASS(bias), PASS(T), PASS_MULTIPLIERS PASS(Y), SAFE, IW, IH, ID, IC, OW, OH, OD, OC, CHANNELS,
   USED, GROUP, KD, STRIDE_Z, DILATION_Z, FRONT, STEP_X, STEP_Y, SPREAD_X, SPREAD_Y, SKIP_X, SKIP_Y,
   PLANES, PLANE_ROWS, PITCH, TAPS, ROWS, COLS, ACROSS, DOWN, CHUNK, BLOCK, WORK_ITEM(0),
   WORK_ITEM(1), WORK_ITEM(2));
}

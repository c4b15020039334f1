// Convolution between plain fp32 tensors, X [images][IC][ID][IH][IW] and Y [images][OC][OD][OH][OW],
// of any window, in groups, or transposed; weighted_sum.h says what GROUP and USED are.
//
// One work-item computes a strip of ROWS x COLS positions of one slice, CHUNK channels of a group.
// It copies the cells that the strip reads, pads as zeros, so that the taps of a row of neighbours
// are neighbours: PLANES planes of PLANE_ROWS x PITCH cells for each input channel and kernel
// slice, a plane for each remainder of a tap's distance by STEP. Then 16 * NV positions of the
// strip, whose rows are PITCH apart, and MR channels at a time are summed in vector registers, so
// that MR * NV + NV + 1 must not exceed their number (32).
//
// A transposed window of stride s is s windows of stride 1, each with every s-th tap: a position
// has SPREAD_X x SPREAD_Y results, its phases, which lie side by side in Y; the first SKIP_X, SKIP_Y
// of them lie before it. Others have one phase.
//
//   W [groups][ceil(GROUP / MR)][phases][USED][KD][taps of the phase][MR], TAPS taps in all phases;
//   bias [groups][ceil(GROUP / MR)][MR]; both padded with zeros.
//   T: for each plane the row and the column of its first cell, for each phase its first tap, TAPS,
//   and for each tap where the cell of the first position lies in the copy of one channel.
// The planes of BLOCK pairs of channel and kernel slice are copied at once: [PLANES][BLOCK][plane].
// SAFE: from this element of X on, fewer than 16 are left.
// Global size: ACROSS * DOWN strips of each of OD slices; groups * ceil(GROUP / CHUNK); images.
#include "block_tile.clh"
#define NR (16 * NV)
#define MOST_CELLS 8192   // copied
#define MOST_SUMS 16384   // of all channels and phases
#define MOST_STORED 2048  // results of one channel

// cells `begin` to `end` of a line of `count` cells, which are `step` apart in X, the first at `at`;
// zeros around them. May write up to 15 cells more, which are written later, or never read.
inline void FN(copy_line)(global const float* X, int at, int step, int begin, int end, int count,
                          int SAFE, global float* to) {
  for (int i = 0; i < begin; i += 16) STORE16(ZERO16, to + i);
  int i = begin;
  if (step == 1) {
    for (; i < end && at + i < SAFE; i += 16) STORE16(LOAD16(X + at + i), to + i);
  } else if (step == 2) {
    for (; i < end && at + 2 * i + 16 < SAFE; i += 16) {
      const float16 a = LOAD16(X + at + 2 * i), b = LOAD16(X + at + 2 * i + 16);
      STORE16(((float16)(a.even, b.even)), to + i);
    }
  }
#pragma nounroll
  for (; i < end; ++i) to[i] = X[at + i * step];
  for (i = end; i < count; i += 16) STORE16(ZERO16, to + i);
}

// clang-format off
#define PARAMETERS IN(X), DATA(W), DATA(bias), DATA(T), OUT(Y), SIZE(SAFE), SIZE(IW), SIZE(IH), SIZE(ID), SIZE(IC), SIZE(OW), \
  SIZE(OH), SIZE(OD), SIZE(OC), SIZE(USED), SIZE(GROUP), SIZE(KD), SIZE(STRIDE_Z), SIZE(DILATION_Z), SIZE(FRONT), SIZE(STEP_X), \
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
  global const int* starts = T + 2 * PLANES;
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
  // summed: each tile fetches its share, `read` and `room` lines of 16 numbers of each channel.
  const int ahead = KD > 1 ? 0 : ACROSS > 1 ? COLS * STEP_X : ROWS * STEP_Y * IW;
  const int read = (ahead + tiles * 16 - 1) / (tiles * 16);
  const int room = ((y2 - y1) * wide + phases * tiles * 16 - 1) / (phases * tiles * 16);

  float copy[MOST_CELLS + NR + 16] __attribute__((aligned(64)));
  float sums[MOST_SUMS + 16] __attribute__((aligned(64)));
  float line[MOST_STORED + 32] __attribute__((aligned(64)));
  for (int block = 0; block < pairs; block += BLOCK) {
    const int together = min(BLOCK, pairs - block);
    for (int p = 0; p < PLANES; ++p) {
      const int iy0 = T[2 * p] + y0 * STEP_Y, ix0 = T[2 * p + 1] + x0 * STEP_X;
      const int begin = min(ix0 < 0 ? (STEP_X - 1 - ix0) / STEP_X : 0, PITCH);
      const int end = clamp(ix0 < IW ? (IW - 1 - ix0) / STEP_X + 1 : 0, begin, PITCH);
      global float* to = AS_GLOBAL(copy) + p * BLOCK * plane;
      int u = image * IC + group * USED + block / KD, kd = block % KD;
      for (int c = 0; c < together; ++c) {
        const int iz = z0 + kd * DILATION_Z, row = (u * ID + iz) * IH + iy0;
        for (int r = 0; r < PLANE_ROWS; ++r, to += PITCH) {
          const int iy = iy0 + r * STEP_Y;
          const bool inside = iz >= 0 && iz < ID && iy >= 0 && iy < IH;
          FN(copy_line)
          (X, (row + r * STEP_Y) * IW + ix0, STEP_X, inside ? begin : PITCH, inside ? end : PITCH,
           PITCH, SAFE, to);
        }
        if (++kd == KD) kd = 0, ++u;
      }
    }
    for (int o = 0; o < channels; o += MR) {
      for (int phase = 0; phase < phases; ++phase) {
        const int begin = starts[phase], end = starts[phase + 1];
        global const float* weights =
            W + (packed + o) * pairs * TAPS + (pairs * begin + block * (end - begin)) * MR;
        for (int t = 0; t < tiles; ++t) {
          global float* sum = AS_GLOBAL(sums) + (o * phases + phase) * flat + t * NR;
          float16 acc[MR][NV];
          if (block == 0) {
            START_TILE(acc, MR, (float16)(bias[packed + o + i]));
          } else {
            START_TILE(acc, MR, LOAD16(sum + i * phases * flat + j * 16));
          }
          global const float* w = weights;
          global const float* cells = AS_GLOBAL(copy) + t * NR;
          if (block + BLOCK >= pairs) {
            global const float* y = Y + corner + o * channel + (phase * tiles + t) * room * 16;
#pragma nounroll
            for (int i = 0; i < MR * room; ++i) PREFETCH(y + i / room * channel + i % room * 16);
          }
          global const float* next = X + ((image * IC + group * USED + block) * IH + y0 * STEP_Y) * IW +
                                     x0 * STEP_X + ahead + t * read * 16;
          for (int c = 0; c < together; ++c, cells += plane, next += IH * IW) {
#pragma nounroll
            for (int i = o + phase == 0 ? read : 0; --i >= 0;) PREFETCH(next + i * 16);
#pragma nounroll
            for (int k = begin; k < end; ++k) {
              ADD_TERM(acc, MR, w[i], cells + offsets[k]);
              w += MR;
            }
          }
#pragma unroll
          for (int i = 0; i < MR; ++i)
#pragma unroll
            for (int j = 0; j < NV; ++j) STORE16(acc[i][j], sum + i * phases * flat + j * 16);
        }
      }
    }
  }

  for (int o = 0; o < channels; ++o) {
    global float* to = AS_GLOBAL(line);
    for (int y = y1; y < y2; ++y, to += wide) {
      const int r = (y - top) / SPREAD_Y, phase = (y - top - r * SPREAD_Y) * SPREAD_X;
      global const float* sum = AS_GLOBAL(sums) + (o * phases + phase) * flat + r * PITCH;
      if (SPREAD_X == 1) {
        for (int x = 0; x < wide; x += 16) STORE16(LOAD16(sum + x), to + x);
        continue;
      }
      if (SPREAD_X == 2) {
        int c = x1 - left;
        if (c == 1) to[0] = sum[flat];
        for (; left + 2 * c < x2; c += 16) {
          const float16 a = LOAD16(sum + c), b = LOAD16(sum + flat + c);
          STORE16(LOW16(a, b), to + (left + 2 * c - x1));
          STORE16(HIGH16(a, b), to + (left + 2 * c - x1 + 16));
        }
        continue;
      }
      for (int p = 0; p < SPREAD_X; ++p) {
        const int from = p < x1 - left ? (x1 - left - p + SPREAD_X - 1) / SPREAD_X : 0;
#pragma nounroll
        for (int x = from * SPREAD_X + p + left, c = from; x < x2; x += SPREAD_X, ++c)
          to[x - x1] = sum[p * flat + c];
      }
    }
    for (int r = 0; r < runs; ++r) {
      const int at = corner + o * channel + r * OW;
      const float* v = line + r * wide;
      int i = 0;
      for (; i + 16 <= run; i += 16)
        VSTORE(Y, at + i, LOAD16(AS_GLOBAL(v) + i));
#pragma nounroll
      for (; i < run; ++i) STORE(Y, at + i, v[i]);
    }
  }
}
TILE_KERNEL(conv_window)(PARAMETERS) {
  FN(tile)
  (PASS(X), PASS(W), PASS(bias), PASS(T), PASS(Y), SAFE, IW, IH, ID, IC, OW, OH, OD, OC, USED,
   GROUP, KD, STRIDE_Z, DILATION_Z, FRONT, STEP_X, STEP_Y, SPREAD_X, SPREAD_Y, SKIP_X, SKIP_Y,
   PLANES, PLANE_ROWS, PITCH, TAPS, ROWS, COLS, ACROSS, DOWN, CHUNK, BLOCK, WORK_ITEM(0),
   WORK_ITEM(1), WORK_ITEM(2));
}

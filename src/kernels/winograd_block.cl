// Winograd's F(M x M, 3x3) between blocked tensors, X [images][ceil(IC / 16)][IH][IW][16] and Y
// likewise, fp32 or half, windows of 3x3 with stride 1.  Source: Lavin, Gray, arXiv:1509.09308.
// M 4 with the points 0, +-1/sqrt(2), +-sqrt(2), infinity, whose rounding errors are the smallest;
// M 2 with 0, 1, -1, infinity.
// A work-item takes MR tiles of M x M results, in rows, and groups of NR = 16 * NV channels.
//   U [ceil(OC / NR)][TT][IC][NR], TT = (M + 2)^2: G w G^T, computed in double; bias
//   [ceil(OC / NR)][NR], both padded with zeros
//   V [images][blocks of MR tiles][TT][ceil(IC / 16)][MR][16]: B^T x B
// STAGE 0: V of a work-item is on its stack, for up to BLOCKS blocks of input channels.
//   Global size: blocks of tiles, parts that the groups are divided into, images.
// STAGE 1 computes V; global size: tiles, blocks of input channels, images.
// STAGE 2 computes Y from V; global size: blocks of tiles, groups, images.
#include "block_tile.clh"
#define NR (16 * NV)
#define TA (M + 2)
#define TT (TA * TA)
#define ACROSS ((OW + M - 1) / M)
#define DOWN ((OH + M - 1) / M)

#define SPLAT(a) ((float16)(a))

// Six (four) numbers times B^T in place, and times A^T into r.
#if M == 2
#define TIMES_B(d)                                    \
  {                                                   \
    const float16 n0 = d(0) - d(2), n1 = d(1) + d(2); \
    const float16 n2 = d(2) - d(1), n3 = d(1) - d(3); \
    d(0) = n0, d(1) = n1, d(2) = n2, d(3) = n3;       \
  }
#define TIMES_A(m, r)          \
  {                            \
    r(0) = m(0) + m(1) + m(2); \
    r(1) = m(1) - m(2) - m(3); \
  }
#else
#define ROOT 1.41421356237309505f  // sqrt(2)
#define TIMES_B(d)                                                                        \
  {                                                                                       \
    const float16 e1 = FMA(SPLAT(-2.0f), d(2), d(4));                                     \
    const float16 o1 = FMA(SPLAT(-2.0f), d(1), d(3)) * (ROOT / 2);                        \
    const float16 e2 = FMA(SPLAT(-0.5f), d(2), d(4));                                     \
    const float16 o2 = FMA(SPLAT(-0.5f), d(1), d(3)) * ROOT;                              \
    const float16 n0 = FMA(SPLAT(-2.5f), d(2), d(0) + d(4));                              \
    const float16 n5 = FMA(SPLAT(-2.5f), d(3), d(1) + d(5));                              \
    d(0) = n0, d(1) = e1 + o1, d(2) = e1 - o1, d(3) = e2 + o2, d(4) = e2 - o2, d(5) = n5; \
  }
#define TIMES_A(m, r)                                        \
  {                                                          \
    const float16 s1 = m(1) + m(2), t1 = m(1) - m(2);        \
    const float16 s2 = m(3) + m(4), t2 = m(3) - m(4);        \
    r(0) = m(0) + s1 + s2;                                   \
    r(1) = FMA(SPLAT(ROOT), t2, t1 * (ROOT / 2));            \
    r(2) = FMA(SPLAT(2.0f), s2, s1 * 0.5f);                  \
    r(3) = m(5) + FMA(SPLAT(2 * ROOT), t2, t1 * (ROOT / 4)); \
  }
#endif
#define COLUMN(k) d[k][x]
#define ROW(k) d[y][k]

#if STAGE < 2
// B^T x B of the window at left, top of one block of channels; its TT results are `step` apart.
TILE_FUNCTION(transform)
(global const X_t* plane, int left, int top, int IW, int IH, global float* v, int step) {
  float16 patch[TT];
#if X_HALF
  global const float* from;
  int pitch;
#else
  global const float* from = plane + (top * IW + left) * 16;
  int pitch = IW * 16;
#endif
  if (X_HALF || left < 0 || top < 0 || left + TA > IW || top + TA > IH) {
#pragma nounroll
    for (int k = 0; k < TT; ++k) {
      const int x = left + k % TA, y = top + k / TA;
      patch[k] = x >= 0 && x < IW && y >= 0 && y < IH ? READ16(plane + (y * IW + x) * 16) : ZERO16;
    }
    from = AS_GLOBAL(patch);
    pitch = TA * 16;
  }
  float16 d[TA][TA];
#pragma unroll
  for (int x = 0; x < TA; ++x) {
#pragma unroll
    for (int y = 0; y < TA; ++y) d[y][x] = LOAD16(from + y * pitch + x * 16);
    TIMES_B(COLUMN)
  }
#pragma unroll
  for (int y = 0; y < TA; ++y) {
    TIMES_B(ROW)
#pragma unroll
    for (int x = 0; x < TA; ++x) STORE16(d[y][x], v + (y * TA + x) * step);
  }
}
#endif

#if STAGE == 1
// clang-format off
TILE_KERNEL(winograd_block)(IN(X), SCRATCH(V), SIZE(IW), SIZE(IH), SIZE(OW), SIZE(OH), SIZE(LEFT), SIZE(TOP)) {
  // clang-format on
  const int tile = WORK_ITEM(0), b = WORK_ITEM(1), image = WORK_ITEM(2), blocks = WORK_ITEMS(1);
  const int across = ACROSS, tile_blocks = (across * DOWN + MR - 1) / MR;
  FN(transform)
  (X + (image * blocks + b) * (IH * IW * 16), tile % across * M - LEFT, tile / across * M - TOP, IW,
   IH, V + (((image * tile_blocks + tile / MR) * TT * blocks + b) * MR + tile % MR) * 16,
   blocks * MR * 16);
}
#else
#if STAGE
#define FROM SCRATCH(V)
#define PASSED PASS(V)
#else
#define FROM IN(X)
#define PASSED PASS(X)
#endif
// clang-format off
#define PARAMETERS FROM, DATA(U), DATA(bias), OUT(Y), SIZE(IW), SIZE(IH), SIZE(IC), SIZE(OW), SIZE(OH), SIZE(OC), SIZE(LEFT), SIZE(TOP)
// clang-format on
TILE_FUNCTION(tiles)(PARAMETERS, int tile_block, int tile_blocks, int part, int parts, int image) {
  const int blocks = (IC + 15) / 16, out_blocks = (OC + 15) / 16;
  const int across = ACROSS, tiles = across * DOWN, first_tile = tile_block * MR;
  const int groups = (OC + NR - 1) / NR;
  const int first_group = groups * part / parts;
  const int end_group = groups * (part + 1) / parts;
#if STAGE
  // The weights of the next group come from memory while these are used: all tiles fetch them
  // together.
  const int share = (NR + tile_blocks - 1) / tile_blocks * 16;
  global const float* next =
      U + ((first_group + 1) * TT * IC * NR + tile_block * share * TT * blocks);
  global const float* v = V + (image * tile_blocks + tile_block) * (TT * blocks * MR * 16);
#else
  float16 stack[TT * BLOCKS * MR];
  global float* v = AS_GLOBAL(stack);
#pragma nounroll
  for (int i = 0; i < MR; ++i) {
    const int tile = min(first_tile + i, tiles - 1);
#pragma nounroll
    for (int b = 0; b < blocks; ++b) FN(transform)
    (X + (image * blocks + b) * (IH * IW * 16), tile % across * M - LEFT, tile / across * M - TOP,
     IW, IH, v + (b * MR + i) * 16, blocks * MR * 16);
  }
#endif
#pragma nounroll
  for (int group = first_group; group < end_group; ++group) {
    float16 m[MR][NV][TT];
    global const float* u = U + group * (TT * IC * NR);
#pragma nounroll
    for (int t = 0; t < TT; ++t) {
      float16 acc[MR][NV];
      START_TILE(acc, MR, ZERO16);
#pragma nounroll
      for (int b = 0; b < blocks; ++b) {
        global const float* line = v + (t * blocks + b) * (MR * 16);
        const int lanes = min(16, IC - b * 16);
#if STAGE
#pragma nounroll
        for (int i = 0; i < share; i += 16) PREFETCH(next + i, 0);
        next += share;
#endif
        for (int l = 0; l < lanes; ++l) {
          ADD_TERM(acc, MR, line[i * 16 + l], u);
          u += NR;
        }
      }
#pragma unroll
      for (int i = 0; i < MR; ++i)
#pragma unroll
        for (int j = 0; j < NV; ++j) m[i][j][t] = acc[i][j];
    }

#pragma nounroll
    for (int i = 0; i < min(MR, tiles - first_tile); ++i) {
      const int x0 = (first_tile + i) % across * M, y0 = (first_tile + i) / across * M;
#pragma nounroll
      for (int j = 0; j < min(NV, out_blocks - group * NV); ++j) {
        const int block = group * NV + j;
        const int first = ((image * out_blocks + block) * OH + y0) * OW + x0;
        const float16 b = LOAD16(bias + block * 16);
        float16 r[M][TA], d[M][M];
#define FROM_M(k) m[i][j][(k)*TA + x]
#define TO_R(k) r[k][x]
#define FROM_R(k) r[y][k]
#pragma unroll
        for (int x = 0; x < TA; ++x) TIMES_A(FROM_M, TO_R)
#pragma unroll
        for (int y = 0; y < M; ++y) TIMES_A(FROM_R, ROW)
        const int wide = min(M, OW - x0), tall = min(M, OH - y0);
#pragma nounroll
        for (int y = 0; y < tall; ++y)
#pragma nounroll
          for (int x = 0; x < wide; ++x) {
            const int at = (first + y * OW + x) * 16;
            VSTORE(Y, at, d[y][x] + b);
          }
      }
    }
  }
}
TILE_KERNEL(winograd_block)(PARAMETERS) {
  FN(tiles)
  (PASSED, PASS(U), PASS(bias), PASS(Y), IW, IH, IC, OW, OH, OC, LEFT, TOP, WORK_ITEM(0),
   WORK_ITEMS(0), WORK_ITEM(1), WORK_ITEMS(1), WORK_ITEM(2));
}
#endif

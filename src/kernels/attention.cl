// Y[z][q][c] = sum over keys k of w[k] * V[z][k][c], where w is the softmax of BETA * (SCALE * (Q[z][q] . K[z][k]) + M[z][q][k])
// along k, in float32. A work-item makes up to ROWS results q of one z. The scores of KEYS keys at a time lie in memory of its
// own, key by key with the queries side by side: so both products are register tiles of MR rows by 16 * NV columns over whole
// vectors, each lane of the softmax is a query, and no score leaves the cache of the core. The sums of earlier keys are scaled
// when a later one has a larger maximum.
// Sources: Milakov, Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 3; Dao et al., "FlashAttention"
// (2022), algorithm 1.
//
// Element d of key k of K lies at k * K_KEY + d * K_TERM; Q, V, Y are dense. T: for each z where Q, K, V and M begin.
// MASK 0: there is no M. 1: M[k], the same for all queries. 2: M[q][k], rows M_QUERY apart.
// All tensors are float32, or all float16: then the keys and values of a tile become floats once, not in each product.
// UNIT: BETA is 1. ROWS is a multiple of 16 * NV and at most ROOM, D and DV are at most WIDEST, DV at least 16 * NV.
// Global size: ceil(TQ / ROWS), number of z.
#include "block_tile.clh"
#define TURN_HALF Q_HALF
#include "turn16.clh"
#include "power.clh"
#define NR (16 * NV)
#define ROOM 64
#define WIDEST 256  // attention.cc knows it too
#define KEYS 512
#define TERMS 128  // of which the columns of V that a tile reads stay in the first-level cache
#define OWN(size) __attribute__((aligned(64))) float size
#define GET(p) (*(const FN(unaligned16)*)(p))
#define PUT(p, v) (*(FN(unaligned16)*)(p) = (v))

#if Q_HALF
#define ONE(p, i) vload_half(i, p)
typedef float8 __attribute__((aligned(4))) FN(unaligned8);
// to[r * width + i] = from[r * step + i] for r < rows, i < length.
inline void FN(widen)(global const half* from, int rows, int length, int step, float* to, int width) {
  for (int r = 0; r < rows; ++r, from += step, to += width) {
    int i = 0;
    for (; i + 16 <= length; i += 16) PUT(to + i, vload_half16(0, from + i));
    for (; i + 8 <= length; i += 8) *(FN(unaligned8)*)(to + i) = vload_half8(0, from + i);
    for (; i < length; ++i) to[i] = ONE(from, i);
  }
}
#else
#define ONE(p, i) (p)[i]
#endif

// clang-format off
TILE_KERNEL(attention)(IN(Q), IN(K), IN(V)
#if MASK
, IN(M)
#endif
, DATA(T), OUT(Y), SIZE(TQ), SIZE(TK), SIZE(D), SIZE(DV), SIZE(ROWS), SIZE(K_KEY), SIZE(K_TERM), SIZE(M_QUERY),
  REAL(SCALE), REAL(BETA)) {
  // clang-format on
  const int first = WORK_ITEM(0) * ROWS, z = WORK_ITEM(1), queries = min(ROWS, TQ - first);
  global const Q_t* const keys_of = K + T[4 * z + 1];
  global const Q_t* const values_of = V + T[4 * z + 2];
#if MASK
  global const Q_t* const mask_of = M + T[4 * z + 3];
#endif
  // A panel for each NR queries: [D][NR].
  OWN(turned[ROOM * WIDEST]);
  for (int q = 0; q < queries; q += 16)
    TURN16(Q + T[4 * z] + min(first + q + l, TQ - 1) * D, D, turned + q / NR * NR * D + q % NR, NR);
  // The last vectors of a panel may be of no query.
  for (int q = (queries + 15) / 16 * 16; q % NR != 0; q += 16) {
    for (int d = 0; d < D; ++d) PUT(turned + q / NR * NR * D + q % NR + d * NR, ZERO16);
  }

  OWN(scores[(KEYS + MR) * ROOM]);  // those of a tile that are of no key are never read
  OWN(sums[ROOM * WIDEST]);         // [query][a panel for each NR columns of V]
  OWN(most[ROOM]);                  // by query: the largest score so far,
  OWN(total[ROOM]);                 // the sum of weights,
  OWN(ratio[ROOM]);                 // what these lose by a new maximum
#if Q_HALF
  OWN(near_keys[MR * WIDEST]);  // [MR][D], or turned [D][MR]
  OWN(near_values[TERMS * NR]);
#endif
  const int wide = (DV + NR - 1) / NR * NR;
  for (int q = 0; q < queries; q += 16) {
    PUT(most + q, (float16)(-INFINITY));
    PUT(total + q, ZERO16);
  }

  for (int k0 = 0; k0 < TK; k0 += KEYS) {
    const int keys = min(KEYS, TK - k0);
#if MASK == 2
    for (int q = 0; q < queries; q += 16)
      TURN16(mask_of + min(first + q + l, TQ - 1) * M_QUERY + k0, keys, scores + q, ROOM);
    for (int q = (queries + 15) / 16 * 16; q % NR != 0; q += 16) {
      for (int k = 0; k < keys; ++k) PUT(scores + k * ROOM + q, ZERO16);
    }
    for (int k = keys * ROOM; k < (keys + MR) * ROOM; k += 16) PUT(scores + k, ZERO16);
#endif
    for (int t = 0; t < keys; t += MR) {
      const int own = min(MR, keys - t);
      global const Q_t* const from = keys_of + (k0 + t) * K_KEY;
#if Q_HALF
      const int key_step = K_TERM == 1 ? D : 1, term_step = K_TERM == 1 ? 1 : MR;
      global const float* const tile = AS_GLOBAL(near_keys);
      if (K_TERM == 1) {
        FN(widen)(from, own, D, K_KEY, near_keys, D);
      } else {
        FN(widen)(from, D, own, K_TERM, near_keys, MR);
      }
#else
      const int key_step = K_KEY, term_step = K_TERM;
      global const float* const tile = from;
#endif
      int row[MR], at[MR];
#pragma unroll
      for (int i = 0; i < MR; ++i) row[i] = min(i, own - 1), at[i] = row[i] * key_step;
      for (int q = 0; q < queries; q += NR) {
        float16 acc[MR][NV];
        START_TILE(acc, MR, ZERO16);
        const float* x = turned + q * D;
        global const float* k = tile;
        for (int d = 0; d < D; ++d, x += NR, k += term_step) ADD_TERM(acc, MR, k[at[i]], AS_GLOBAL(x));
#pragma unroll
        for (int i = 0; i < MR; ++i)
#pragma unroll
          for (int j = 0; j < NV; ++j) {
            float* const to = scores + (t + i) * ROOM + q + 16 * j;
            float16 score = acc[i][j] * SCALE;
#if MASK == 1
            score += ONE(mask_of, k0 + t + row[i]);
#elif MASK == 2
            score += GET(to);
#endif
            PUT(to, score);
          }
      }
    }

    for (int q = 0; q < queries; q += 16) {
      const float16 before = GET(most + q);
      float16 high[4] = {before, before, before, before};  // a single one would wait for itself
      for (int k = 0; k < keys; k += 4) {
#pragma unroll
        for (int l = 0; l < 4; ++l) {
          const float16 s = GET(scores + min(k + l, keys - 1) * ROOM + q);
          high[l] = s > high[l] ? s : high[l];  // a NaN reaches every result through the sum
        }
      }
      high[0] = high[0] > high[1] ? high[0] : high[1];
      high[2] = high[2] > high[3] ? high[2] : high[3];
      const float16 now = high[0] > high[2] ? high[0] : high[2];
      PUT(most + q, now);
      // Where all scores so far are minus infinity there is nothing to subtract.
      const float16 base = now > -INFINITY ? now : ZERO16;
#define WEIGHT(s) FN(power)((UNIT ? (s)-base : ((s)-base) * BETA) * LOG2_E)
      const float16 less = WEIGHT(before);
      PUT(ratio + q, less);
      float16 sum = GET(total + q) * less;
      // In parts: a sum in one go would lose a bit for each fourfold length.
      for (int k = 0; k < keys; k += 32) {
        float16 part = 0.0f;
        for (int l = k; l < min(k + 32, keys); ++l) {
          float* const s = scores + l * ROOM + q;
          const float16 weight = WEIGHT(GET(s));
          PUT(s, weight);
          part += weight;
        }
        sum += part;
      }
      PUT(total + q, sum);
    }

    for (int k1 = 0; k1 < keys; k1 += TERMS) {
      const int terms = min(TERMS, keys - k1);
      for (int c = 0; c < DV; c += NR) {
        global const Q_t* const values = values_of + (k0 + k1) * DV + min(c, DV - NR);
#if Q_HALF
        FN(widen)(values, terms, NR, DV, near_values, NR);
        const int value_step = NR;
        global const float* const block = AS_GLOBAL(near_values);
#else
        const int value_step = DV;
        global const float* const block = values;
#endif
        for (int q = 0; q < queries; q += MR) {
          float* const to = sums + q * wide + c;
          float16 acc[MR][NV];
          if (k0 + k1 == 0) {
            START_TILE(acc, MR, ZERO16);
          } else if (k1 == 0) {
            START_TILE(acc, MR, GET(to + i * wide + 16 * j) * ratio[q + i]);
          } else {
            START_TILE(acc, MR, GET(to + i * wide + 16 * j));
          }
          const float* weight = scores + k1 * ROOM + q;
          global const float* value = block;
          for (int k = 0; k < terms; ++k, weight += ROOM, value += value_step) ADD_TERM(acc, MR, weight[i], value);
#pragma unroll
          for (int i = 0; i < MR; ++i)
#pragma unroll
            for (int j = 0; j < NV; ++j) PUT(to + i * wide + 16 * j, acc[i][j]);
        }
      }
    }
  }

  // In loops, so that what is fused stands in the code once. The last panel ends with DV; columns before its own are those of
  // the panel before it.
#pragma nounroll
  for (int q = 0; q < queries; ++q) {
    const float factor = 1.0f / total[q];
#pragma nounroll
    for (int c = 0; c < wide; c += 16) {
      const int own = c / NR * NR, column = min(own, DV - NR) + c - own;
      const int at = (z * TQ + first + q) * DV + column, begin = max(own - column, 0);
      const float* const sum = sums + q * wide + c;
      if (begin == 0) {
        VSTORE(Y, at, GET(sum) * factor);
      } else {
#pragma nounroll
        for (int l = begin; l < 16; ++l) STORE(Y, at + l, sum[l] * factor);
      }
    }
  }
}

// moments.cl, 16 numbers at a time. One work-item makes one result of lines of N >= 16 neighbours (LANES > 1), or RUN
// neighbouring results, 16 or 64, of LENGTH >= RUN; the last of these begin at LENGTH - RUN, so that some are stored
// twice, the same both times.
#include "reduce.clh"
#include "tensor.clh"
#define SAME(v, mean) (v)
#define APART(v, mean) FN(square)((v) - (mean))
inline float16 FN(square)(float16 v) { return v * v; }
#if LANES > 1
inline float FN(total)(float16 v) {
  const float8 a = v.lo + v.hi;
  const float4 b = a.lo + a.hi;
  return (b.x + b.z) + (b.y + b.w);
}
// Sets `total` to the sum of what TERM makes of each number, in four sums that do not wait for each other. The last numbers
// of a line lie behind some that were counted before.
#define ADD_UP(TERM)                                                                             \
  {                                                                                              \
    float16 sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};                                                   \
    for (int m = 0; m < M; ++m) {                                                                \
      const int from = WALK_GROUP(m);                                                            \
      int k = 0;                                                                                 \
      for (; k + 64 <= N; k += 64) {                                                             \
        _Pragma("unroll") for (int l = 0; l < 4; ++l)                                            \
            sum[l] += TERM(VLOAD(X, from + k + 16 * l), mean);                                   \
      }                                                                                          \
      for (; k + 16 <= N; k += 16) sum[0] += TERM(VLOAD(X, from + k), mean);                     \
      if (k < N) {                                                                               \
        const float16 v = TERM(VLOAD(X, from + N - 16), mean);                                   \
        sum[1] += lane < k + 16 - N ? (float16)(0.0f) : v;                                       \
      }                                                                                          \
    }                                                                                            \
    total = FN(total)((sum[0] + sum[1]) + (sum[2] + sum[3]));                                    \
  }
#else
// The same of each of the 16 results of vector l.
#define VECTORS (RUN / 16)
#define ADD_UP(TERM)                                                                             \
  for (int l = 0; l < VECTORS; ++l) total[l] = 0.0f;                                             \
  for (int m = 0; m < M; ++m) {                                                                  \
    const int from = WALK_GROUP(m) - back;                                                       \
    for (int k = 0; k < N; ++k) {                                                                \
      _Pragma("unroll") for (int l = 0; l < VECTORS; ++l)                                        \
          total[l] += TERM(VLOAD(X, from + k * STEP + 16 * l), mean[l]);                         \
    }                                                                                            \
  }
// Stores them, as they were divided.
#define STORE_ALL(Y, v)                                                                          \
  {                                                                                              \
    float results[RUN];                                                                          \
    for (int l = 0; l < VECTORS; ++l) vstore16(v[l], l, results);                                \
    for (int l = 0; l < RUN; ++l) STORE(Y, to - back + l, results[l]);                           \
  }
#endif
KERNEL(moments16)(IN(X), OUT(Y), OUT(Z), WALK_PARAMETERS, SIZE(COUNT)) {
  WALK_START
#if LANES > 1
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  float total;
  ADD_UP(SAME)
  const float mean = total / (float)COUNT;
  ADD_UP(APART)
  STORE(Y, to, mean);
  STORE(Z, to, total / (float)COUNT);
#else
  const int back = RUN - lanes;
  float16 total[VECTORS], mean[VECTORS];
  ADD_UP(SAME)
  for (int l = 0; l < VECTORS; ++l) mean[l] = total[l] / (float)COUNT;
  ADD_UP(APART)
  for (int l = 0; l < VECTORS; ++l) total[l] /= (float)COUNT;
  STORE_ALL(Y, mean)
  STORE_ALL(Z, total)
#endif
}

// Matrices of bytes as matmul8.cl, PAIRED, reads them: W[z][ceil(N / NR)][ceil(K / TERMS)][NR][TERMS] with NR = 16 * NV, padded
// with zeros, in bytes with sign, and S[z][ceil(N / NR)][NR], the sums of the columns. Term k of column n is
// X[T[z] + k * X_K + n * X_N]; one of these steps is 1. FLIP: 0 where X is signed, else 0x80. N is at least 16.
// Global size: ceil(N / NR), matrices.
#include "block8.clh"
#define NR (16 * NV)
#if DOT
#define TERMS 4
typedef uint __attribute__((aligned(1))) FN(word_t);
#else
#define TERMS 1
#endif

// clang-format off
TILE_KERNEL(matrix_pack8)(IN(X), DATA(T), SCRATCH(W), SCRATCH(S), SIZE(N), SIZE(K), SIZE(X_K), SIZE(X_N)) {
  // clang-format on
  const int group = WORK_ITEM(0), z = WORK_ITEM(1), groups = (N + NR - 1) / NR;
  const int place = z * groups + group, steps = (K + TERMS - 1) / TERMS;
  for (int j = 0; j < NV; ++j) {
    const int vector = group * NV + j, inside = 16 * vector < N;
    global const uchar* x = AS_GLOBAL(X, const uchar) + T[z] + min(16 * vector, N - 16) * X_N;
    global char* to = W + (place * steps * NR + 16 * j) * TERMS;
    int16 sum = 0;
    for (int k = 0; k < K; k += TERMS, to += NR * TERMS) {
#if DOT
      uint16 words = 0;
      if (inside && X_N == 1) {
        for (int t = 0; t < min(K - k, 4); ++t)
          words |= convert_uint16(TIMCL_BYTES(x + (k + t) * X_K) ^ (uchar16)(FLIP)) << (8 * t);
      } else if (inside) {
        for (int l = 0; l < 16; ++l) {
          uint word = 0;
          if (k + 4 <= K) {
            word = *(global const FN(word_t)*)(x + l * X_N + k) ^ FLIP * 0x01010101u;
          } else {
            for (int t = 0; t < K - k; ++t) word |= (uint)(x[l * X_N + k + t] ^ FLIP) << (8 * t);
          }
          ((uint*)&words)[l] = word;
        }
      }
      DOT4(sum, (int16)(0x01010101), as_int16(words));
      *(global uint16*)to = words;
#else
      uchar16 bytes = 0;
      if (inside && X_N == 1) {
        bytes = TIMCL_BYTES(x + k * X_K) ^ (uchar16)(FLIP);
      } else if (inside) {
        for (int l = 0; l < 16; ++l) ((uchar*)&bytes)[l] = x[l * X_N + k] ^ FLIP;
      }
      sum += convert_int16(as_char16(bytes));
      *(global uchar16*)to = bytes;
#endif
    }
    vstore16(sum, place * NV + j, S);
  }
}

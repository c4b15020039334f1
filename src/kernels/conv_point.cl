// Convolution of 1x1 windows between blocked tensors, X [images][ceil(IC / 16)][PIXELS][16] and Y
// likewise, fp32 or half: conv_block.cl for windows that see each pixel once. One work-item computes RUN
// tiles of MX neighbours, NV blocks of channels of each, in vector registers, so that
// MX * NV + NV + 1 must not exceed their number (32).
//   W [ceil(OC / NR)][IC][NR], NR = 16 * NV, bias [ceil(OC / NR)][NR]; both padded with zeros.
// Global size: ceil(tiles / RUN), ceil(OC / NR), images. Tiles come first: they share weights.
#define MY 1
#include "block_tile.clh"
#define NR (16 * NV)
#define OW PIXELS
#define OH 1

#define PARAMETERS IN(X), DATA(W), DATA(bias), OUT(Y), SIZE(PIXELS), SIZE(IC), SIZE(OC), SIZE(RUN)
TILE_FUNCTION(run)(PARAMETERS, int item, int group, int image) {
  const int tiles = (PIXELS + MX - 1) / MX, blocks = (IC + 15) / 16;
  global const float* const weights = W + group * (IC * NR);
  // The weights of the next group come from memory while these are used: all tiles fetch them
  // together, each its share with every block.
  const int share = (NR + tiles - 1) / tiles * 16;

  // Of an image that does not stay in the first-level cache, the next block is fetched, too.
  const bool far = NV > 1 && PIXELS * IC > 16 * 1024;

  for (int tile = item * RUN; tile < min(item * RUN + RUN, tiles); ++tile) {
    // The last tile moves back to end with the line, but stores only what is its own.
    const int own_x = tile * MX, x0 = max(min(own_x, PIXELS - MX), 0);
    global const float* w = weights;
    global const X_t* const first = X + (image * blocks * PIXELS + x0) * 16;
    global const X_t* from = first;
    const int ahead = tile * share * blocks, fetch = ahead < IC * NR ? share : 0;
    global const float* next = weights + IC * NR + ahead;

    float16 acc[MX][NV];
    START_TILE(acc, MX, LOAD16(bias + (group * NV + j) * 16));
    FETCH_TILE(image, group * NV, x0, 0);

#pragma nounroll
    for (int left = IC; left > 0; left -= 16) {
#pragma nounroll
      for (int i = 0; i < fetch; i += 16) PREFETCH(next + i, 0);
      next += fetch;
      if (far) {
        global const X_t* then = left > 16 ? from + PIXELS * 16 : first + MX * 16;
#pragma unroll
        for (int i = 0; i < MX; ++i) PREFETCH(then + i * 16, 0);
      }
#if X_HALF
      float16 copy[MX];
#pragma unroll
      for (int i = 0; i < MX; ++i) copy[i] = READ16(from + i * 16);
      global const float* x = AS_GLOBAL(copy);
#else
      global const float* x = from;
#endif
      const int lanes = min(left, 16);
#pragma nounroll
      for (int l = 0; l < lanes; ++l) {
        ADD_TERM(acc, MX, x[l + i * 16], w);
        w += NR;
      }
      from += PIXELS * 16;
    }
    STORE_TILE(acc, image, group * NV, x0, 0, own_x, 0);
  }
}
TILE_KERNEL(conv_point)(PARAMETERS) {
  FN(run)
  (PASS(X), PASS(W), PASS(bias), PASS(Y), PIXELS, IC, OC, RUN, WORK_ITEM(0), WORK_ITEM(1),
   WORK_ITEM(2));
}

// Any point-wise op (see pointwise.clh), one element per work-item. RANK: 0 when every operand has the result's shape,
// else the number of dimensions that are left after those that broadcast alike were joined. TO_BOOL: the result is stored
// as 0 or 1. A dimension k brings its extent D, multiplier M and shift H of the division by it, and the stride of each
// input, 0 where it is repeated; the outermost needs no division.
#include "tensor.clh"
#include "divide.clh"
#include "pointwise.clh"
#define DIVIDED(k) , SIZE(D##k), SIZE(M##k), SIZE(H##k)
#if INPUTS == 1
#define STRIDES(k) , SIZE(X##k)
#define ADVANCE(k) ix += c * X##k
#elif INPUTS == 2
#define STRIDES(k) , SIZE(X##k), SIZE(Y##k)
#define ADVANCE(k) ix += c * X##k, iy += c * Y##k
#else
#define STRIDES(k) , SIZE(X##k), SIZE(Y##k), SIZE(Z##k)
#define ADVANCE(k) ix += c * X##k, iy += c * Y##k, iz += c * Z##k
#endif
#define SPLIT(k)                                \
  {                                             \
    const uint q = DIVIDE(rest, M##k, H##k);    \
    const int c = (int)(rest - q * (uint)D##k); \
    rest = q;                                   \
    ADVANCE(k);                                 \
  }
#define LAST(k)              \
  {                          \
    const int c = (int)rest; \
    ADVANCE(k);              \
  }
// clang-format off
KERNEL(pointwise)(INPUT_PARAMETERS, OUT(R), SIZE(N)
#if RANK > 1
DIVIDED(0)
#endif
#if RANK > 2
DIVIDED(1)
#endif
#if RANK > 3
DIVIDED(2)
#endif
#if RANK > 4
DIVIDED(3)
#endif
#if RANK > 5
DIVIDED(4)
#endif
#if RANK > 0
STRIDES(0)
#endif
#if RANK > 1
STRIDES(1)
#endif
#if RANK > 2
STRIDES(2)
#endif
#if RANK > 3
STRIDES(3)
#endif
#if RANK > 4
STRIDES(4)
#endif
#if RANK > 5
STRIDES(5)
#endif
REAL_PARAMETERS) {
  // clang-format on
  const int i = WORK_ITEM(0);
  if (i >= N) return;
#if RANK == 0
  const int ix = i, iy = i, iz = i;
#else
  uint rest = i;
  int ix = 0, iy = 0, iz = 0;
#if RANK > 1
  SPLIT(0)
#endif
#if RANK > 2
  SPLIT(1)
#endif
#if RANK > 3
  SPLIT(2)
#endif
#if RANK > 4
  SPLIT(3)
#endif
#if RANK > 5
  SPLIT(4)
#endif
#if RANK == 1
  LAST(0)
#elif RANK == 2
  LAST(1)
#elif RANK == 3
  LAST(2)
#elif RANK == 4
  LAST(3)
#elif RANK == 5
  LAST(4)
#else
  LAST(5)
#endif
#endif
  const acc_t x = LOAD(X, ix);
#if INPUTS > 1
  const acc_t y = LOAD(Y, iy);
#endif
#if INPUTS > 2
  const acc_t z = LOAD(Z, iz);
#endif
  const acc_t r = EXPR;
#if TO_BOOL
  STORE(R, i, (acc_t)(r != 0 ? 1 : 0));
#else
  STORE(R, i, r);
#endif
}

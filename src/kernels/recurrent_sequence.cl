// All steps of a recurrent layer in one launch. Work-groups share the units of each step in blocks
// of 16, and wait for each other before the next one (team.clh; TEAM 0: there is one). Weights lie
// in the order in which they are read, and stay in the second-level cache between steps.
//
// CELL 0: h' = act(p + R h). 1, a GRU, gates z r c: h' = (1 - z) act(p + r (R h + RB)) + z h. 3, an
// LSTM, gates i f c o: c' = f c + i tanh(.), h' = o tanh(c'); CIFG: without the first, i = 1 - f.
// GATES: how many there are.
//   P  [row][block][gate][16]: what the gates take from the input, biases included. Row of a step
//      and a batch entry: P_AT + step * P_STEP + b * P_BATCH.
//   R  [block][k][gate][16] floats, zeros where k or the unit is none. BYTES: instead bytes with
//      sign [block][k / 4][gate][16][4]; SUMS [block][gate][16] is -128 times their sums over k, and
//      MR [gate] what one unit of a product is worth.
//   H  [2][b][LENGTH] floats, the states before even and odd steps; LENGTH is 16 * BLOCKS. BYTES:
//      [2][b][3][LENGTH], the high, middle and low bytes of h * FINE + 2^23, whole numbers of 24
//      bits. Their products with weights are summed as integers, which is exact.
//   C  [b][LENGTH], what a unit keeps to itself: the cell of an LSTM, the state of a GRU
//   S, SC  states before the first step, zeros where HAS_S, HAS_SC are 0
//   Y  the states of all steps, of the last one where Y_STEP is 0. STORES says how 16 neighbours
//      get there: 2 VSTORE, 1 as floats, 0 one by one. YH, YC: the last states.
// ROWS: batch entries that use a weight while it is in a register. CHAINS: sums of one result that
// do not wait for each other.
#include "recurrent.clh"
#include "registers.clh"
#include "team.clh"
#include "tensor.clh"
#if BYTES
#define DOT 1
#include "block8.clh"
#define ENTRY (3 * LENGTH)
#define STATES uchar
#else
#define ENTRY LENGTH
#define STATES float
#endif
#if STORES == 2
#define STORE16(i, v) VSTORE(Y, i, v)
#elif STORES == 1
#define STORE16(i, v) PUT16(Y + i, v)
#else
#define STORE16(i, v)                       \
  do {                                      \
    float lane[16];                         \
    vstore16(v, 0, lane);                   \
    _Pragma("nounroll")                     \
    for (int l = 0; l < 16; ++l) STORE(Y, i + l, lane[l]); \
  } while (0)
#endif

// Leaves 16 states of a batch entry where the next step finds them.
inline void FN(keep)(global STATES* to, int LENGTH, float16 h, float FINE) {
#if BYTES
  const int16 q = min(convert_int16(rint(h * FINE)), (int16)(0x7fffff)) + 0x800000;
  *(global timcl_bytes16*)to = convert_uchar16(q >> 16);
  *(global timcl_bytes16*)(to + LENGTH) = convert_uchar16((q >> 8) & 255);
  *(global timcl_bytes16*)(to + 2 * LENGTH) = convert_uchar16(q & 255);
#else
  PUT16(to, h);
#endif
}

// clang-format off
TILE_KERNEL(recurrent_sequence)(DATA(R),
#if BYTES
DATA(SUMS), DATA(MR),
#endif
#if CELL == 1
DATA(RB),
#endif
SCRATCH(P), SCRATCH(H),
#if CELL
SCRATCH(C),
#endif
#if TEAM
SCRATCH(T),
#endif
#if HAS_S
IN(S),
#endif
#if HAS_SC
IN(SC),
#endif
OUT(Y),
#if HAS_YH
OUT(YH),
#endif
#if HAS_YC
OUT(YC),
#endif
SIZE(STEPS), SIZE(BATCH), SIZE(UNITS), SIZE(BLOCKS), SIZE(P_AT), SIZE(P_STEP), SIZE(P_BATCH), SIZE(S_AT), SIZE(SC_AT),
SIZE(Y_AT), SIZE(Y_STEP), SIZE(Y_BATCH), SIZE(YH_AT), SIZE(YH_BATCH), SIZE(YC_AT), SIZE(YC_BATCH), REAL(FINE), REAL(CLIP),
REAL(FORGET)) {
  // clang-format on
  const int LENGTH = 16 * BLOCKS;
#if TEAM
  // Alone is a work-group that has PoCL compile the kernel, over memory that holds anything.
  if (WORK_ITEMS(0) == 1) return;
  int rank, late = 0, members = 0;
  int step = FN(team_join)(T, &rank);
  const bool first = rank == 0;
#else
  int step = 0;
  const bool first = true;
#endif
  if (first) {
    for (int b = 0; b < BATCH; ++b) {
      for (int u = 0; u < LENGTH; u += 16) {
        float lane[16];
        for (int l = 0; l < 16; ++l) {
          lane[l] = 0.0f;
#if HAS_S
          if (u + l < UNITS) lane[l] = LOAD(S, S_AT + b * UNITS + u + l);
#endif
        }
        FN(keep)(H + b * ENTRY + u, LENGTH, vload16(0, lane), FINE);
#if CELL == 1
        PUT16(C + b * LENGTH + u, vload16(0, lane));
#elif CELL == 3
        for (int l = 0; l < 16; ++l) {
          lane[l] = 0.0f;
#if HAS_SC
          if (u + l < UNITS) lane[l] = LOAD(SC, SC_AT + b * UNITS + u + l);
#endif
        }
        PUT16(C + b * LENGTH + u, vload16(0, lane));
#endif
      }
    }
  }

  for (; step < STEPS; ++step) {
#if TEAM
    members = FN(team_wait)(T, rank, members, step, &late);
    if (rank >= members) return;
    const int begin = BLOCKS * rank / members, end = BLOCKS * (rank + 1) / members;
#else
    const int begin = 0, end = BLOCKS;
#endif
    global const STATES* const now = H + (step & 1) * BATCH * ENTRY;
    global STATES* const next = H + ((step + 1) & 1) * BATCH * ENTRY;
    for (int block = begin; block < end; ++block) {
      for (int b0 = 0; b0 < BATCH; b0 += ROWS) {
        float sums[ROWS * GATES * 16] __attribute__((aligned(64)));
#if BYTES
        int16 high[ROWS][GATES], middle[ROWS][GATES], low[ROWS][GATES];
        global const int* h[ROWS];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
          h[i] = (global const int*)(now + min(b0 + i, BATCH - 1) * ENTRY);
#pragma unroll
          for (int g = 0; g < GATES; ++g) {
            high[i][g] = vload16(block * GATES + g, SUMS);
            middle[i][g] = low[i][g] = (int16)(0);
          }
        }
        global const int* w = (global const int*)R + block * (LENGTH / 4) * GATES * 16;
#pragma nounroll
        for (int k = 0; k < LENGTH / 4; ++k) {
          int16 weight[GATES];
#pragma unroll
          for (int g = 0; g < GATES; ++g) weight[g] = vload16(g, w);
#pragma unroll
          for (int i = 0; i < ROWS; ++i) {
            const int16 x = (int16)(h[i][k]), y = (int16)(h[i][k + LENGTH / 4]),
                        z = (int16)(h[i][k + LENGTH / 2]);
#pragma unroll
            for (int g = 0; g < GATES; ++g) {
              DOT4(high[i][g], x, weight[g]);
              DOT4(middle[i][g], y, weight[g]);
              DOT4(low[i][g], z, weight[g]);
            }
          }
          w += GATES * 16;
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
          for (int g = 0; g < GATES; ++g) {
            const float16 upper = FMA(convert_float16(high[i][g]), (float16)(256.0f),
                                      convert_float16(middle[i][g]));
            const float16 sum = FMA(upper, (float16)(256.0f), convert_float16(low[i][g]));
            *(float16*)(sums + (i * GATES + g) * 16) = sum * MR[g];
          }
#else
        float16 acc[ROWS][GATES][CHAINS];
        global const float* h[ROWS];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
          h[i] = now + min(b0 + i, BATCH - 1) * ENTRY;
#pragma unroll
          for (int g = 0; g < GATES; ++g)
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) acc[i][g][c] = (float16)(0.0f);
        }
        global const float* w = R + block * LENGTH * GATES * 16;
#pragma nounroll
        for (int k = 0; k < LENGTH; k += CHAINS) {
#pragma unroll
          for (int c = 0; c < CHAINS; ++c) {
            float16 weight[GATES];
#pragma unroll
            for (int g = 0; g < GATES; ++g) weight[g] = TIMCL_FLOATS(w + 16 * (c * GATES + g));
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
              const float16 x = (float16)(h[i][k + c]);
#pragma unroll
              for (int g = 0; g < GATES; ++g) acc[i][g][c] = FMA(x, weight[g], acc[i][g][c]);
            }
          }
          w += CHAINS * GATES * 16;
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
          for (int g = 0; g < GATES; ++g) {
            float16 sum = acc[i][g][0];
#pragma unroll
            for (int c = 1; c < CHAINS; ++c) sum += acc[i][g][c];
            *(float16*)(sums + (i * GATES + g) * 16) = sum;
          }
#endif

        const int rows = min(ROWS, BATCH - b0);
#pragma nounroll
        for (int i = 0; i < rows; ++i) {
          const int b = b0 + i, u = 16 * block;
          const float* sum = sums + i * GATES * 16;
          global const float* p =
              P + ((P_AT + step * P_STEP + b * P_BATCH) * BLOCKS + block) * GATES * 16;
#define GATE(g) (vload16(g, p) + *(const float16*)(sum + (g)*16))
#if CELL == 0
          const float16 m = FN(activate16)(ACTIVATION, GATE(0));
#elif CELL == 1
          const float16 z = FN(activate16)(RECURRENT_ACTIVATION, GATE(0));
          const float16 reset = FN(activate16)(RECURRENT_ACTIVATION, GATE(1));
          const float16 recalled = *(const float16*)(sum + 32) + vload16(block, RB);
          const float16 candidate =
              FN(activate16)(ACTIVATION, FMA(reset, recalled, vload16(2, p)));
          const float16 m = FMA(z, vload16(0, C + b * LENGTH + u), (1.0f - z) * candidate);
          PUT16(C + b * LENGTH + u, m);
#else
          float16 c = vload16(0, C + b * LENGTH + u);
#if CIFG
          const float16 f = FN(activate16)(RECURRENT_ACTIVATION, GATE(0) + FORGET);
          const float16 take = 1.0f - f;
#else
          const float16 f = FN(activate16)(RECURRENT_ACTIVATION, GATE(1) + FORGET);
          const float16 take = FN(activate16)(RECURRENT_ACTIVATION, GATE(0));
#endif
          c = FMA(f, c, take * TANH(GATE(GATES - 2)));
          if (CLIP > 0.0f) c = AT_MOST(AT_LEAST(c, -CLIP), CLIP);
          PUT16(C + b * LENGTH + u, c);
          const float16 m = FN(activate16)(RECURRENT_ACTIVATION, GATE(GATES - 1)) * TANH(c);
#endif
          FN(keep)(next + b * ENTRY + u, LENGTH, m, FINE);

          const bool last = step + 1 == STEPS;
          const int own = min(16, UNITS - u);
          if (Y_STEP != 0 || last) {
            const int y = Y_AT + step * Y_STEP + b * Y_BATCH + u;
            if (own == 16) {
              STORE16(y, m);
            } else {
              float lane[16];
              vstore16(m, 0, lane);
#pragma nounroll
              for (int l = 0; l < own; ++l) STORE(Y, y + l, lane[l]);
            }
          }
#if HAS_YH || HAS_YC
          if (last) {
            float lane[16];
#if HAS_YH
            vstore16(m, 0, lane);
#pragma nounroll
            for (int l = 0; l < own; ++l) STORE(YH, YH_AT + b * YH_BATCH + u + l, lane[l]);
#endif
#if HAS_YC
            vstore16(c, 0, lane);
#pragma nounroll
            for (int l = 0; l < own; ++l) STORE(YC, YC_AT + b * YC_BATCH + u + l, lane[l]);
#endif
          }
#endif
        }
      }
    }
#if TEAM
    FN(team_done)(T, rank, members, step, late, STEPS, WORK_ITEMS(0));
#endif
  }
}

// What the machine can do at most, for the "of peak" column: independent multiply-adds in
// registers, on as many threads as asked. peak THREADS answers each line of input with one line of
// JSON: {"fp32": GFLOP/s, "int8": GOP/s}; int8 only where the compiler's target has the dot-product
// instruction. Built with -O2 -march=native -pthread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef __AVX512VNNI__
#include <immintrin.h>
#endif

enum { kChains = 12, kSteps = 1 << 20 };  // 12 chains hide the latency of four cycles on two units
#ifdef __AVX512F__
enum { kLanes = 16 };
#elif defined(__AVX__)
enum { kLanes = 8 };
#else
enum { kLanes = 4 };
#endif
// The chains are variables of their own: an array would live in memory.
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#ifdef __AVX512F__
#define OPAQUE(c) __asm__ volatile("" : "+v"(sum##c));  // the compiler may not join steps
#elif defined(__x86_64__)
#define OPAQUE(c) __asm__ volatile("" : "+x"(sum##c));
#else
#define OPAQUE(c) __asm__ volatile("" : "+w"(sum##c));
#endif
typedef float Vector __attribute__((vector_size(4 * kLanes)));

static double Seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float g_sink;

static void* Floats(void* unused) {
  const Vector a = (Vector){0} + 0.999f, b = (Vector){0} + 0.001f;
#define START(c) Vector sum##c = b;
#define STEP(c) sum##c = sum##c * a + b;
#define END(c) g_sink += sum##c[0];
  CHAINS(START)
  for (int step = 0; step < kSteps; ++step) {
    CHAINS(STEP)
    CHAINS(OPAQUE)
  }
  CHAINS(END)
#undef START
#undef STEP
#undef END
  return unused;
}

#ifdef __AVX512VNNI__
static void* Bytes(void* unused) {
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(1);
#define START(c) __m512i sum##c = b;
#define STEP(c) sum##c = _mm512_dpbusd_epi32(sum##c, a, b);
#define END(c) g_sink += (float)_mm512_reduce_add_epi32(sum##c);
  CHAINS(START)
  for (int step = 0; step < kSteps; ++step) {
    CHAINS(STEP)
    CHAINS(OPAQUE)
  }
  CHAINS(END)
  return unused;
}
#endif

// Operations per second / 1e9 of `work` on every thread at once; the best of five.
static double Rate(void* (*work)(void*), int threads, double operations) {
  double best = 0;
  for (int turn = 0; turn < 5; ++turn) {
    pthread_t other[64];
    const double start = Seconds();
    for (int t = 1; t < threads; ++t) pthread_create(&other[t], NULL, work, NULL);
    work(NULL);
    for (int t = 1; t < threads; ++t) pthread_join(other[t], NULL);
    const double rate = operations * threads / (Seconds() - start) / 1e9;
    if (rate > best) best = rate;
  }
  return best;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  if (threads < 1 || threads > 64) return 2;
  for (int c = getchar(); c != EOF; c = getchar()) {
    if (c != '\n') continue;
    printf("{\"fp32\": %.2f", Rate(Floats, threads, 2.0 * kLanes * kChains * kSteps));
#ifdef __AVX512VNNI__
    printf(", \"int8\": %.2f", Rate(Bytes, threads, 2.0 * 64 * kChains * kSteps));
#endif
    printf("}\n");
    fflush(stdout);
  }
  return 0;
}

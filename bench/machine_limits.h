// What the machine can do at most: independent float32 multiply-adds in registers, and copies
// from memory to memory.
#ifndef TIMCL_BENCH_MACHINE_LIMITS_H_
#define TIMCL_BENCH_MACHINE_LIMITS_H_

#include <benchmark/benchmark.h>
#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <chrono>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

namespace tim::vx::bench {

#if defined(__x86_64__)
__attribute__((target("avx512f"))) inline double Fma512(int64_t rounds) {
  __m512 a[24];
  for (int i = 0; i < 24; ++i) a[i] = _mm512_set1_ps(1.0f + static_cast<float>(i));
  const __m512 b = _mm512_set1_ps(0.999999f), c = _mm512_set1_ps(1e-6f);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < 24; ++i) a[i] = _mm512_fmadd_ps(a[i], b, c);
  }
  __m512 sum = a[0];
  for (int i = 1; i < 24; ++i) sum = _mm512_add_ps(sum, a[i]);
  benchmark::DoNotOptimize(sum);
  return 24.0 * 16 * 2 * static_cast<double>(rounds);
}
__attribute__((target("avx2,fma"))) inline double Fma256(int64_t rounds) {
  __m256 a[12];
  for (int i = 0; i < 12; ++i) a[i] = _mm256_set1_ps(1.0f + static_cast<float>(i));
  const __m256 b = _mm256_set1_ps(0.999999f), c = _mm256_set1_ps(1e-6f);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) a[i] = _mm256_fmadd_ps(a[i], b, c);
  }
  __m256 sum = a[0];
  for (int i = 1; i < 12; ++i) sum = _mm256_add_ps(sum, a[i]);
  benchmark::DoNotOptimize(sum);
  return 12.0 * 8 * 2 * static_cast<double>(rounds);
}
#elif defined(__aarch64__)
inline double FmaNeon(int64_t rounds) {
  float32x4_t a[24];
  for (int i = 0; i < 24; ++i) a[i] = vdupq_n_f32(1.0f + static_cast<float>(i));
  const float32x4_t b = vdupq_n_f32(0.999999f), c = vdupq_n_f32(1e-6f);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < 24; ++i) a[i] = vfmaq_f32(a[i], b, c);
  }
  float32x4_t sum = a[0];
  for (int i = 1; i < 24; ++i) sum = vaddq_f32(sum, a[i]);
  benchmark::DoNotOptimize(sum);
  return 24.0 * 4 * 2 * static_cast<double>(rounds);
}
#endif

/// Multiply-adds in registers; the operations that were done, 0 for an unknown processor.
inline double FmaRun(int64_t rounds) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return Fma512(rounds);
  if (__builtin_cpu_supports("fma")) return Fma256(rounds);
#elif defined(__aarch64__)
  return FmaNeon(rounds);
#endif
  (void)rounds;
  return 0;
}

/// The sum of what `rate` returns on all processors that this process may use, at the same time.
template <typename Rate>
double OnAllProcessors(Rate rate) {
  cpu_set_t cpus;
  const int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
  std::vector<double> rates(static_cast<size_t>(count));
  std::vector<std::thread> others;
  for (size_t i = 1; i < rates.size(); ++i)
    others.emplace_back([&rates, rate, i] { rates[i] = rate(); });
  rates[0] = rate();
  for (std::thread& thread : others) thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

/// How long `f` takes.
template <typename F>
double Seconds(const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// FLOP/s of all processors together.
inline double FmaPeak() {
  return OnAllProcessors([] {
    double flops = 0;
    const double seconds = Seconds([&] { flops = FmaRun(100000); });
    return flops / seconds;
  });
}

/// Bytes per second, read and written, of copies too large for most caches. It tells two states of
/// a machine apart in which FmaPeak is the same: docs/speed.md, "Where weights and pixels come
/// from".
inline double CopyRate() {
  constexpr size_t kBytes = size_t{32} << 20;
  return OnAllProcessors([] {
    std::vector<char> from(kBytes, 1), to(kBytes, 2);  // written, so the pages are there
    const double seconds = Seconds([&] {
      std::memcpy(to.data(), from.data(), kBytes);
      benchmark::DoNotOptimize(to.data());
      benchmark::ClobberMemory();
    });
    return 2.0 * kBytes / seconds;
  });
}

}  // namespace tim::vx::bench

#endif  // TIMCL_BENCH_MACHINE_LIMITS_H_

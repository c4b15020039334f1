// TIMCL_API marks what the shared library exports; everything else is compiled with hidden
// visibility.
#ifndef TIM_VX_VISIBILITY_H_
#define TIM_VX_VISIBILITY_H_

#if defined(__GNUC__) || defined(__clang__)
#define TIMCL_API __attribute__((visibility("default")))
#else
#define TIMCL_API
#endif

#endif  // TIM_VX_VISIBILITY_H_

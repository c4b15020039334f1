// The half library (half_float::half; third party, not part of this library) under the name by which
// callers of the original include it. An own copy further down the include path comes first.
#ifndef TIMCL_COMPAT_HALF_HPP_
#define TIMCL_COMPAT_HALF_HPP_
#pragma GCC system_header  // #include_next is no standard C++

#if __has_include_next(<half.hpp>)
#include_next <half.hpp>
#elif __has_include(<half/half.hpp>)
#include <half/half.hpp>
#else
#error "half.hpp is third party: install the half library (Debian: libhalf-dev) or add its folder to the include path"
#endif

#endif  // TIMCL_COMPAT_HALF_HPP_

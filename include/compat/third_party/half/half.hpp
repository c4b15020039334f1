// As "half.hpp", under its other name. An own copy further down the include path comes first.
#ifndef TIMCL_COMPAT_THIRD_PARTY_HALF_HPP_
#define TIMCL_COMPAT_THIRD_PARTY_HALF_HPP_
#pragma GCC system_header  // #include_next is no standard C++

#if __has_include_next(<third_party/half/half.hpp>)
#include_next <third_party/half/half.hpp>
#else
#include <half.hpp>
#endif

#endif  // TIMCL_COMPAT_THIRD_PARTY_HALF_HPP_

// Compiled by tests that want it to fail: see CMakeLists.txt.
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "tim/vx/ops/custom_base.h"

void Transform(std::vector<tim::vx::ops::Param>& list) {
#if defined(STRING)
  tim::vx::ops::param_transform(std::tuple<int, std::string>(1, "two"), list);
#elif defined(LONG_DOUBLE)
  tim::vx::ops::param_transform(std::tuple<long double>(1.0L), list);
#elif defined(FLOAT5)
  tim::vx::ops::param_transform(std::tuple<std::array<float, 5> >(), list);
#else
  tim::vx::ops::param_transform(std::tuple<int, float, unsigned, bool, std::array<float, 4>, double,
                                           char, long long, std::vector<unsigned char> >(),
                                list);
  tim::vx::ops::Param by_hand = {{1.0f}, tim::vx::DataType::FLOAT32};
  list.push_back(by_hand);
  list.push_back({{2.0f}, tim::vx::DataType::FLOAT32});
#endif
}

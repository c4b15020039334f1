// Custom operators of callers name these through custom_base.h alone.
#include "tim/vx/ops/custom_base.h"

void PrintParams(const std::vector<tim::vx::ops::Param>& params);
void PrintParams(const std::vector<tim::vx::ops::Param>& params) {
  const std::tuple<int, float> scalars(1, 2.0f);
  std::vector<tim::vx::ops::Param> list = params;
  tim::vx::ops::param_transform(scalars, list);
  assert(list.size() == params.size() + 2);
  const std::string name = typeid(scalars).name();
  std::cout << name << std::get<1>(scalars) << std::endl;
}

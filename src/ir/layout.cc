// Orders of dimensions; see layout.h.
#include "ir/layout.h"

#include <algorithm>
#include <numeric>

namespace tim::vx::ir {

Order Identity(size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

bool IsIdentity(const Order& order) { return order == Identity(order.size()); }

bool IsPermutation(const Order& order) {
  const Order all = Identity(order.size());
  return std::is_permutation(order.begin(), order.end(), all.begin());
}

Order Inverse(const Order& order) {
  Order inverse(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  return inverse;
}

Order Then(const Order& first, const Order& second) {
  Order both;
  for (const uint32_t d : second) both.push_back(first[d]);
  return both;
}

Shape Permuted(const Shape& shape, const Order& order) {
  Shape permuted;
  for (const uint32_t d : order) permuted.push_back(shape.dim(d));
  return permuted;
}

size_t PlaceOf(const Order& order, size_t dim) {
  return static_cast<size_t>(std::find(order.begin(), order.end(), dim) - order.begin());
}

Order NativeOrder(DataLayout layout, size_t rank) {
  struct Named {
    DataLayout layout;
    Order order;
  };
  const Named named[] = {
      {DataLayout::CWHN, {1, 2, 0, 3}},     {DataLayout::IcWHOc, {1, 2, 0, 3}},
      {DataLayout::OcIcWH, {2, 3, 1, 0}},   {DataLayout::IcOcWH, {2, 3, 0, 1}},
      {DataLayout::CWHDN, {1, 2, 3, 0, 4}}, {DataLayout::OcIcWHD, {2, 3, 4, 1, 0}}};
  for (const auto& [name, order] : named) {
    if (name == layout && order.size() == rank) return order;
  }
  return Identity(rank);
}

Order NativeKernelOrder(DataLayout kernel, DataLayout data, size_t rank) {
  if (data == DataLayout::CWHDN && kernel != DataLayout::OcIcWHD) return NativeOrder(data, rank);
  return NativeOrder(kernel, rank);
}

}  // namespace tim::vx::ir

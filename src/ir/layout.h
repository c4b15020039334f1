// Orders of dimensions: the permutations behind the names of DataLayout, and what is done with
// them.
#ifndef TIMCL_IR_LAYOUT_H_
#define TIMCL_IR_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "tim/vx/tensor_type.h"

namespace tim::vx::ir {

/// Dimension i of the permuted tensor is dimension order[i] of the other one, as the perm of
/// Transpose says it. Entries beyond the other tensor's rank are dimensions of extent 1.
using Order = std::vector<uint32_t>;

Order Identity(size_t rank);
bool IsIdentity(const Order& order);
/// Each dimension once.
bool IsPermutation(const Order& order);
/// r[order[i]] = i
Order Inverse(const Order& order);
/// `first`, then `second` on what came out: r[i] = first[second[i]].
Order Then(const Order& first, const Order& second);
/// Extents in that order.
Shape Permuted(const Shape& shape, const Order& order);
/// Where dimension `dim` went.
size_t PlaceOf(const Order& order, size_t dim);

/// What leads from data that lie as `layout` names it to the order that operators are defined in.
/// Names that do not fit the rank, and those of that very order, change nothing.
Order NativeOrder(DataLayout layout, size_t rank);
/// The same for a kernel beside data of layout `data`. The kernel that belongs to CWHDN data,
/// IcWHDOc, has no name: it is meant by each name but OcIcWHD.
Order NativeKernelOrder(DataLayout kernel, DataLayout data, size_t rank);

}  // namespace tim::vx::ir
#endif  // TIMCL_IR_LAYOUT_H_

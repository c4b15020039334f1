// A tensor of one graph and what holds its data in another: tensors in several orders of
// dimensions, made from each other by transposes.
#ifndef TIMCL_TRANSFORM_FORMS_H_
#define TIMCL_TRANSFORM_FORMS_H_

#include <memory>
#include <string>
#include <vector>

#include "ir/layout.h"
#include "tim/vx/graph.h"
#include "tim/vx/tensor.h"
#include "tim/vx/tensor_type.h"

namespace tim::transform {

using GraphPtr = std::shared_ptr<vx::Graph>;
using TensorPtr = std::shared_ptr<vx::Tensor>;

/// A tensor of the new graph that holds the data in some order.
struct Form {
  vx::ir::Order order;
  TensorPtr tensor;
};

/// What one tensor of the source graph stands for: the data as operators see them.
struct Data {
  TensorPtr source;
  vx::TensorType type;
  bool constant = false, scalar = false;
  bool open = false;     // no shape is declared
  bool state = false;    // VARIABLE: its memory is read before and after it is written
  bool written = false;  // by an op
  size_t readers = 0;
  vx::ir::Order stored;  // the order of its memory
  TensorPtr mapped;      // that memory in the new graph; null for constants and what lives in a run
  /// The first is the one that others are made from: it has the data's own rank. Those of constants
  /// are made from the source as they are wanted.
  std::vector<Form> forms;

  /// The shape that is declared, in the order that operators see.
  vx::Shape declared() const;
  std::string label() const;  // "'main' f32[56,56,24,1]"
};

/// The type of data in that order; the dimension of the channels moves along.
vx::TensorType InOrder(const vx::TensorType& type, const vx::ir::Order& order);

/// Whether elements lie alike: the orders differ in dimensions of extent 1 alone.
bool SamePlaces(const vx::Shape& shape, const vx::ir::Order& a, const vx::ir::Order& b);
/// The elements of a tensor's memory as constants take them, 4-bit ones a byte each; null without
/// data.
std::shared_ptr<const void> ElementsOf(vx::Tensor& source);
/// A form whose bytes are those of `order`. Null if there is none.
const Form* SameBytes(const Data& x, const vx::ir::Order& order);

/// Makes forms in one graph.
class Former {
 public:
  explicit Former(GraphPtr graph) : graph_(std::move(graph)) {}

  /// A tensor for the data in that order, which is no form yet.
  TensorPtr NewTensor(const Data& x, const vx::ir::Order& order, vx::TensorAttribute attribute,
                      const void* data = nullptr);
  /// The data in that order: a form that is there, or one made by at most one Transpose. Entries
  /// beyond the data's rank are dimensions of extent 1.
  TensorPtr FormIn(Data& x, const vx::ir::Order& order);
  /// Brings the data from its forms into its memory, `mapped`.
  void Deliver(const Data& x);
  void Reshape(const Data& x, const TensorPtr& from, const vx::Shape& shape, const TensorPtr& to);

 private:
  TensorPtr NewConstant(const Data& x, const vx::ir::Order& order);
  /// From the first form.
  void Transpose(const Data& x, const vx::ir::Order& order, const TensorPtr& to);

  GraphPtr graph_;
};

}  // namespace tim::transform
#endif  // TIMCL_TRANSFORM_FORMS_H_

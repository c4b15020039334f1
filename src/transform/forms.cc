// Forms of data; see forms.h.
#include "transform/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ir/packed.h"
#include "tim/vx/ops/reshape.h"
#include "tim/vx/ops/transpose.h"

namespace tim::transform {

using vx::Shape;
using vx::TensorAttribute;
using vx::TensorType;
using vx::ir::Order;
using vx::ir::Permuted;

namespace {

/// Elements of `width` bytes from the order of `shape` to another one.
std::vector<std::byte> Permute(const std::byte* data, size_t width, const Shape& shape,
                               const Order& order) {
  const size_t count = static_cast<size_t>(shape.count());
  std::vector<std::byte> permuted(count * width);
  std::vector<size_t> strides(order.size(), width), at(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    for (uint32_t d = 0; d < order[i]; ++d) strides[i] *= static_cast<size_t>(shape.dim(d));
  }
  size_t from = 0;
  for (size_t to = 0; to < count; ++to) {
    std::memcpy(permuted.data() + to * width, data + from, width);
    for (size_t i = 0; i < order.size(); ++i) {
      from += strides[i];
      if (++at[i] < static_cast<size_t>(shape.dim(order[i]))) break;
      from -= strides[i] * at[i];
      at[i] = 0;
    }
  }
  return permuted;
}

/// `order` with dimensions of extent 1 behind.
Order Extended(Order order, size_t rank) {
  for (size_t d = order.size(); d < rank; ++d) order.push_back(static_cast<uint32_t>(d));
  return order;
}

/// What dumps and reports show of an inserted op.
std::string NameFor(const Data& x) {
  const std::string& name = x.source->Name();
  return "layout of " + (name.empty() ? fmt::format("tensor {}", x.source->GetId()) : name);
}

}  // namespace

Shape Data::declared() const {
  return Permuted(Shape(source->GetShape()), vx::ir::Inverse(stored));
}

std::string Data::label() const {
  const std::string& name = source->Name();
  return (name.empty() ? "" : "'" + name + "' ") + type.ToString();
}

TensorType InOrder(const TensorType& type, const Order& order) {
  TensorType moved = {type.dtype, Permuted(type.shape, order), type.quant};
  const auto dim = static_cast<size_t>(type.quant.ChannelDim());
  if (type.per_channel() && dim < order.size())
    moved.quant.SetChannelDim(static_cast<int32_t>(vx::ir::PlaceOf(order, dim)));
  return moved;
}

bool SamePlaces(const Shape& shape, const Order& a, const Order& b) {
  const auto places = [&](Order order) {
    std::erase_if(order, [&](uint32_t d) { return shape.dim(d) == 1; });
    return order;
  };
  return places(a) == places(b);
}

const Form* SameBytes(const Data& x, const Order& order) {
  for (const Form& f : x.forms) {
    if (f.order == order) return &f;
  }
  // The channels must be found at the same place.
  if (x.type.per_channel()) return nullptr;
  for (const Form& f : x.forms) {
    if (SamePlaces(x.type.shape, f.order, order)) return &f;
  }
  return nullptr;
}

TensorPtr Former::NewTensor(const Data& x, const Order& order, TensorAttribute attribute,
                            const void* data) {
  const TensorType type = InOrder(x.type, order);
  TensorPtr t = graph_->CreateTensor(
      vx::TensorSpec(type.dtype, type.shape.ToShapeType(), attribute, type.quant), data);
  t->SetName(x.source->Name());
  if (x.scalar && type.shape == Shape{1}) t->SetScalar(1);
  return t;
}

std::shared_ptr<const void> ElementsOf(vx::Tensor& source) {
  const std::shared_ptr<void> shared(source.ConvertTensorToData(nullptr), std::free);
  if (shared == nullptr || !vx::IsPacked(source.GetDataType())) return shared;
  const TensorType type = {source.GetDataType(), Shape(source.GetShape()), {}};
  auto elements = std::make_shared<std::vector<std::byte>>(type.bytes());
  vx::Unpack(type, shared.get(), elements->data());
  return {elements, elements->data()};
}

TensorPtr Former::NewConstant(const Data& x, const Order& order) {
  const auto elements = ElementsOf(*x.source);
  if (elements == nullptr) return NewTensor(x, order, TensorAttribute::CONSTANT);
  const Order move = vx::ir::Then(vx::ir::Inverse(Extended(x.stored, order.size())), order);
  if (vx::ir::IsIdentity(move))
    return NewTensor(x, order, TensorAttribute::CONSTANT, elements.get());
  const TensorType stored = {x.type.dtype, Shape(x.source->GetShape()), {}};
  const size_t width = stored.bytes() / static_cast<size_t>(stored.count());
  const auto permuted =
      Permute(static_cast<const std::byte*>(elements.get()), width, stored.shape, move);
  return NewTensor(x, order, TensorAttribute::CONSTANT, permuted.data());
}

void Former::Transpose(const Data& x, const Order& order, const TensorPtr& to) {
  const Form& from = x.forms.front();
  std::vector<uint32_t> perm;
  for (const uint32_t d : order)
    perm.push_back(static_cast<uint32_t>(vx::ir::PlaceOf(from.order, d)));
  auto op = graph_->CreateOperation<vx::ops::Transpose>(perm);
  op->SetName(NameFor(x));
  op->BindInput(from.tensor).BindOutput(to);
}

void Former::Reshape(const Data& x, const TensorPtr& from, const Shape& shape,
                     const TensorPtr& to) {
  auto op = graph_->CreateOperation<vx::ops::Reshape>(shape.ToShapeType());
  op->SetName(NameFor(x));
  op->BindInput(from).BindOutput(to);
}

TensorPtr Former::FormIn(Data& x, const Order& order) {
  for (const Form& f : x.forms) {
    if (f.order == order) return f.tensor;
  }
  const Shape shape = Permuted(x.type.shape, order);
  const Form* const same = SameBytes(x, order);
  TensorPtr made;
  if (x.constant) {
    made = NewConstant(x, order);
  } else if (same != nullptr && shape == Permuted(x.type.shape, same->order)) {
    made = same->tensor;
  } else if (same != nullptr) {
    made = NewTensor(x, order, TensorAttribute::TRANSIENT);
    Reshape(x, same->tensor, shape, made);
  } else {
    Order own;  // without the dimensions that are added
    for (const uint32_t d : order) {
      if (d < x.type.shape.rank()) own.push_back(d);
    }
    if (own.size() == order.size()) {
      made = NewTensor(x, own, TensorAttribute::TRANSIENT);
      Transpose(x, own, made);
    } else {
      const TensorPtr between = FormIn(x, own);  // others may want it, too
      made = NewTensor(x, order, TensorAttribute::TRANSIENT);
      Reshape(x, between, shape, made);
    }
  }
  // Of state, an old value must not serve a reader of the new one.
  if (!x.state) x.forms.push_back({order, made});
  return made;
}

void Former::Deliver(const Data& x) {
  const Form* const same = SameBytes(x, x.stored);
  if (same == nullptr) {
    Transpose(x, x.stored, x.mapped);
  } else {
    const Shape shape = x.open ? Permuted(x.type.shape, x.stored) : Shape(x.mapped->GetShape());
    Reshape(x, same->tensor, shape, x.mapped);
  }
}

}  // namespace tim::transform

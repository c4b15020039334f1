// Every operator under Graph::Resize: a graph compiled for one case's shapes and resized to those
// of another computes what a graph made for the other does, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/checking.h"
#include "ir/packed.h"
#include "ref/compare.h"
#include "support/api_support.h"
#include "tim/vx/op_def.h"
#include "tim/vx/testing.h"

namespace tim::vx::test {
namespace {

using testing::SpecOf;

/// The same operator over operands that differ in shape alone, and not in those of constants.
bool DifferInShape(const Case& a, const Case& b) {
  if (!(a.attrs.Map() == b.attrs.Map()) || a.inputs.size() != b.inputs.size() ||
      a.outputs.size() != b.outputs.size())
    return false;
  bool differ = false;
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const CaseTensor &x = a.inputs[i], &y = b.inputs[i];
    if (x.constant != y.constant || !SameEncoding(x.type, y.type)) return false;
    // The resized graph keeps its constants.
    if (x.constant && (x.lo != y.lo || x.hi != y.hi || x.values != y.values)) return false;
    if (x.type.shape == y.type.shape) continue;
    if (x.constant || x.type.shape.empty() || y.type.shape.empty()) return false;
    differ = true;
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    // Where a declared shape says what the operator computes, Resize has another meaning.
    const bool declared = !a.outputs[i].shape.empty() || !b.outputs[i].shape.empty();
    if (declared || !SameEncoding(a.outputs[i], b.outputs[i])) return false;
  }
  return differ;
}

struct Pair {
  std::shared_ptr<const OpDef> def;
  Case from, to;
};

/// Some of each operator.
std::vector<Pair> Pairs(const OpRegistry& ops) {
  constexpr size_t kMost = 3, kMostElements = 20000;
  std::vector<Pair> pairs;
  for (const auto& def : ops.All()) {
    const std::vector<Case> cases = ListCases(*def);
    size_t found = 0;
    const auto small = [](const Case& c) {
      int64_t elements = 0;
      for (const CaseTensor& t : c.inputs)
        elements += t.type.dtype == DataType::UNKNOWN ? 0 : t.type.count();
      return elements < static_cast<int64_t>(kMostElements);
    };
    for (size_t a = 0; a < cases.size() && found < kMost; ++a) {
      for (size_t b = 0; b < cases.size() && found < kMost; ++b) {
        if (a == b || !small(cases[a]) || !small(cases[b]) || !DifferInShape(cases[a], cases[b]))
          continue;
        pairs.push_back({def, cases[a], cases[b]});
        ++found;
        break;
      }
    }
  }
  return pairs;
}

/// Operators side by side in one graph.
class Side {
 public:
  Side(const std::shared_ptr<Context>& context, const std::vector<Pair>& pairs, bool from)
      : graph_(context->CreateGraph()) {
    for (const Pair& p : pairs) {
      const Case& c = from ? p.from : p.to;
      auto op = graph_->CreateOperation(std::string(p.def->name), c.attrs.Map());
      size_t count = c.inputs.size();
      while (count > 0 && c.inputs[count - 1].type.dtype == DataType::UNKNOWN) --count;
      for (size_t i = 0; i < count; ++i) {
        const CaseTensor& t = c.inputs[i];
        if (t.type.dtype == DataType::UNKNOWN) {
          op->BindInput(graph_->CreateTensorPlaceHolder());
        } else if (t.constant) {
          op->BindInput(graph_->CreateTensor(SpecOf(t.type, TensorAttribute::CONSTANT),
                                             Values(c, i, false).data()));
        } else {
          op->BindInput(graph_->CreateTensor(SpecOf(t.type, TensorAttribute::INPUT)));
        }
      }
      outputs_.emplace_back();
      for (TensorType t : c.outputs) {
        t.shape = {};
        outputs_.back().push_back(graph_->CreateTensor(SpecOf(t, TensorAttribute::OUTPUT)));
        op->BindOutput(outputs_.back().back());
      }
    }
  }

  bool Resize(const std::vector<Pair>& pairs) {
    std::vector<ShapeType> shapes;
    for (const Pair& p : pairs) {
      for (const CaseTensor& t : p.to.inputs) {
        if (t.type.dtype != DataType::UNKNOWN && !t.constant)
          shapes.push_back(t.type.shape.ToShapeType());
      }
    }
    return graph_->Resize(shapes);
  }

  /// Runs with the values of the second case; by operator, the bytes of all its outputs.
  std::vector<std::string> Run(const std::vector<Pair>& pairs) {
    const auto inputs = graph_->InputsTensor();
    size_t at = 0;
    for (const Pair& p : pairs) {
      for (size_t i = 0; i < p.to.inputs.size(); ++i) {
        const CaseTensor& t = p.to.inputs[i];
        if (t.type.dtype == DataType::UNKNOWN || t.constant) continue;
        (void)inputs[at++]->CopyDataToTensor(Values(p.to, i, true).data());
      }
    }
    EXPECT_TRUE(graph_->Run()) << graph_->LastStatus().message();
    std::vector<std::string> all;
    for (const auto& tensors : outputs_) {
      std::string& bytes = all.emplace_back();
      for (const auto& tensor : tensors) {
        const auto type = testing::InferredType(*tensor);
        std::string one(HostBytes(*type), '\0');
        (void)tensor->CopyDataFromTensor(one.data());
        bytes += type->shape.ToString() + one;
      }
    }
    return all;
  }
  const GraphPtr& graph() const { return graph_; }

 private:
  static std::vector<std::byte> Values(const Case& c, size_t i, bool host) {
    const CaseTensor& t = c.inputs[i];
    std::vector<std::byte> data(t.type.bytes());
    const TensorType none;
    ref::FillInput(t, c.outputs.empty() ? none : c.outputs[0], 17 + i, data.data());
    if (!host || !IsPacked(t.type.dtype)) return data;
    std::vector<std::byte> packed(HostBytes(t.type));
    Pack(t.type, data.data(), packed.data());
    return packed;
  }

  GraphPtr graph_;
  std::vector<std::vector<TensorPtr>> outputs_;
};

void Check(const std::shared_ptr<Context>& context) {
  const std::vector<Pair> all = Pairs(context->Ops());
  std::vector<std::string> names;
  for (const Pair& p : all) names.emplace_back(p.def->name);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  EXPECT_GT(names.size(), 90u) << "operators with cases that differ in shape alone";
  printf("%zu pairs of cases of %zu operators\n", all.size(), names.size());
  constexpr size_t kAtOnce = 60;  // per graph: so many programs are compiled, and no more
  for (size_t first = 0; first < all.size(); first += kAtOnce) {
    const std::vector<Pair> some(
        all.begin() + static_cast<std::ptrdiff_t>(first),
        all.begin() + static_cast<std::ptrdiff_t>(std::min(first + kAtOnce, all.size())));
    Side resized(context, some, true), made(context, some, false);
    ASSERT_TRUE(resized.graph()->Compile()) << resized.graph()->LastStatus().message();
    ASSERT_TRUE(resized.Resize(some)) << resized.graph()->LastStatus().message();
    ASSERT_TRUE(made.graph()->Compile()) << made.graph()->LastStatus().message();
    const auto got = resized.Run(some), expected = made.Run(some);
    for (size_t i = 0; i < some.size(); ++i)
      EXPECT_TRUE(got[i] == expected[i])
          << some[i].def->name << " from " << some[i].from.inputs[0].type.ToString() << " to "
          << some[i].to.inputs[0].type.ToString();
  }
}

TEST(ResizeConformance, OnTheReference) { Check(HostContext()); }

TEST(ResizeConformance, OnTheDevice) {
  if (!HasOpenCl()) GTEST_SKIP() << "TIMCL_DEVICE=reference: no OpenCL";
  Check(SharedContext());
}

}  // namespace
}  // namespace tim::vx::test

// CheckOp and CheckCases: prove an operator's kernels against its reference, in one line of a test.
#ifndef TIM_VX_CHECK_OP_H_
#define TIM_VX_CHECK_OP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/op_def.h"
#include "tim/vx/tensor_type.h"
#include "tim/vx/visibility.h"

namespace tim::vx::testing {

struct CheckOptions {
  /// Element type and quantization of each operand (tim/vx/testing.h has short words: F32(), U8());
  /// shapes are generated. Without inputs all are FLOAT32; without outputs they are as input 0.
  std::vector<TensorType> inputs = {}, outputs = {};
  /// The shapes of all inputs from four extents, most of them odd. Null: all inputs have one shape,
  /// of rank 1 to 4.
  std::function<std::vector<Shape>(int64_t a, int64_t b, int64_t c, int64_t d)> shapes = nullptr;
  /// Real values are drawn from [lo, hi].
  double lo = -4, hi = 4;
  /// What a kernel may differ by from the reference.
  Tolerance tolerance = Tolerance::Ulp(16, 1, 1e-6);
  uint64_t seed = 42;
  /// Whose OpenCL device runs the kernels; null: that of a new one.
  std::shared_ptr<Context> context = nullptr;
};

/// Makes the operator for one set of shapes, without binding it.
using OpMaker =
    std::function<std::shared_ptr<Operation>(Graph& graph, const std::vector<Shape>& inputs)>;

/// Runs the operator over generated shapes and values, on the OpenCL device and by its reference
/// (CustomOpBase::SetReference, OpDef::reference), and compares. "" when all agree; else the case,
/// the operand, the element and both numbers, or why it could not be run. Elements that a kernel
/// does not write and writes beyond the ends of an output are found as well; so is a kernel that
/// was refused, where the reference would run in its place.
/// With TIMCL_CHECK=oclgrind in the environment the program starts again under Oclgrind, from its
/// main(), and invalid accesses and data races are failures too.
///   EXPECT_EQ(CheckOp<Hswish>(), "");
///   EXPECT_EQ(CheckOp<Hswish>({{U8()}, {U8()}}, Hswish::ParamTuple(0.1f, 119, 0.1f, 119)), "");
TIMCL_API std::string CheckOp(const CheckOptions& options, const OpMaker& make);

/// The same constructor arguments (those after the graph) for all shapes.
template <class Op, class... Args>
std::string CheckOp(const CheckOptions& options, const Args&... args) {
  static_assert(std::is_base_of_v<Operation, Op>, "CheckOp<Op>: Op is an operation");
  return CheckOp(
      options, OpMaker([&](Graph& graph, const std::vector<Shape>&) -> std::shared_ptr<Operation> {
        return graph.CreateOperation<Op>(args...);
      }));
}
template <class Op>
std::string CheckOp() {
  return CheckOp<Op>(CheckOptions());
}

struct CaseOptions {
  uint64_t seed = 42;
  /// Cases with more elements in their inputs, those of benchmarks, are left out.
  int64_t max_elements = 300000;
  /// Whose operators expansions mean; null: those of a new one.
  std::shared_ptr<Context> context = nullptr;
};

/// Runs the cases that a definition lists (OpDef::cases) on the OpenCL device, as this library does
/// with its own: by every kernel candidate that accepts them, and in terms of other operators where
/// the definition has an expansion; each against the reference, within the definition's tolerance.
/// "" when all agree; else the first that do not, each with its case and kernel. A case that no
/// kernel takes is a failure. Unwritten elements and writes outside are found as by CheckOp, and
/// TIMCL_CHECK=oclgrind means the same.
///   EXPECT_EQ(CheckCases(context->Ops().Find("acme.softcap")), "");
/// `ran`: by kernel, how many cases it ran; "expanded" for the expansion.
TIMCL_API std::string CheckCases(const std::shared_ptr<const OpDef>& def,
                                 const CaseOptions& options = CaseOptions(),
                                 std::map<std::string, size_t>* ran = nullptr);

}  // namespace tim::vx::testing
#endif  // TIM_VX_CHECK_OP_H_

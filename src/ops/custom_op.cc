// CustomOpBase becomes an OpDef: from here on nothing knows the difference between a user's op and
// a built-in one. Life cycle and argument order: API facts, extension.md 1.
#include <exception>
#include <sstream>

#include "tim/vx/op_def.h"
#include "tim/vx/ops/custom_base.h"

namespace tim::vx::ops {
namespace {

/// Set-up happens once per graph: when the compiler asks again, as after another op was expanded,
/// the answer stands.
struct Setup {
  std::vector<TensorType> inputs;  // what it was made for
  std::vector<Param> params;       // param_list_ before it
  Launches launches;               // empty before it
  OpDef* def = nullptr;            // of the op
};

/// What a custom op's node carries: the user's object. The graph keeps the object alive, and so
/// does the executable.
struct Attrs {
  CustomOpBase* op = nullptr;
  std::shared_ptr<Setup> setup;
  std::string kernel_name;
  TIMCL_FIELDS(kernel_name)
};

std::string OperandNames(const char* stem, uint32_t count) {
  std::string names;
  for (uint32_t i = 0; i < count; ++i)
    names += (i ? " " : "") + std::string(stem) + std::to_string(i);
  return names;
}

/// The user's callbacks may throw; nothing of that crosses into the compiler.
template <class F>
Status Fenced(const OpView& view, const char* what, F f) {
  try {
    f();
    return Status();
  } catch (const std::exception& e) {
    return view.Error(Code::kInvalidArgument, std::string(what) + " threw: " + e.what());
  } catch (...) {
    return view.Error(Code::kInvalidArgument,
                      std::string(what) + " threw an exception of unknown type");
  }
}

Status Verify(const OpView& view) {
  const CustomOpBase& op = *view.attrs<Attrs>().op;
  if (op.kernel_resource_ == nullptr || *op.kernel_resource_ == 0) {
    return view.Error(Code::kInvalidArgument, "kernel_resource_ holds no OpenCL source");
  }
  for (size_t i = 0; i < view.num_inputs() + view.num_outputs(); ++i) {
    const TensorView t = i < view.num_inputs() ? view.in(i) : view.out(i - view.num_inputs());
    if (BitsOf(t.dtype()) < 8)
      return view.Error(Code::kInvalidType, "kernels do not read or write " + t.label());
  }
  return Status();
}

/// Fills inputs_size_, calls SetupShapeInfor and takes outputs_size_. Set-up happens once per
/// graph; when the compiler asks again the answer stands.
Result<Shapes> Infer(const OpView& view) {
  CustomOpBase& op = *view.attrs<Attrs>().op;
  std::vector<ShapeType> inputs;
  for (size_t i = 0; i < view.num_inputs(); ++i) inputs.push_back(view.in(i).shape().ToShapeType());
  if (op.outputs_size_.empty() || op.inputs_size_ != inputs) {
    op.inputs_size_ = std::move(inputs);
    op.outputs_size_.assign(op.output_num_, ShapeType());
    TIMCL_TRY(Fenced(view, "SetupShapeInfor", [&] { op.SetupShapeInfor(); }));
  }
  Shapes shapes;
  for (size_t i = 0; i < view.num_outputs(); ++i) {
    if (i >= op.outputs_size_.size() || op.outputs_size_[i].empty()) {
      return view.Error(Code::kInvalidShape, "SetupShapeInfor left outputs_size_[" +
                                                 std::to_string(i) +
                                                 "] empty; it must push the extents of output " +
                                                 std::to_string(i) + ", innermost first");
    }
    shapes.emplace_back(op.outputs_size_[i]);
  }
  return shapes;
}

Operand Scalar(const Param& p) {
  Operand o;
  switch (p.type) {
    case DataType::FLOAT32:
      o.kind = Operand::Kind::kFloat;
      o.scalar.f = p.data.f;
      break;
    case DataType::INT32:
      o.kind = Operand::Kind::kInt;
      o.scalar.i = p.data.i;
      break;
    case DataType::UINT32:
      o.kind = Operand::Kind::kUint;
      o.scalar.u = p.data.ui;
      break;
    default:  // BOOL8, UINT8, INT8: one byte
      o.kind = Operand::Kind::kByte;
      o.scalar.b = static_cast<uint8_t>(p.data.b);
      break;
  }
  return o;
}

/// Calls SetupParams and SetupEnqueue.
Result<Launches> SetUp(const OpView& view, CustomOpBase& op) {
  std::vector<DataType> input_types;
  for (size_t i = 0; i < view.num_inputs(); ++i) input_types.push_back(view.in(i).dtype());
  KernelSpec spec;
  op.func_name_ = nullptr;
  TIMCL_TRY(Fenced(view, "SetupParams", [&] { op.SetupParams(input_types, spec.build_options); }));
  if (op.func_name_ == nullptr || *op.func_name_ == 0) {
    return view.Error(Code::kInvalidArgument,
                      "SetupParams did not set func_name_, the kernel function to run");
  }
  spec.user_source = op.kernel_resource_;
  spec.entry = op.func_name_;
  spec.image_operands = true;
  for (size_t i = 0; i < view.num_inputs(); ++i) spec.operands.push_back(In(i, ""));
  for (size_t i = 0; i < view.num_outputs(); ++i) spec.operands.push_back(Out(i, ""));
  for (const Param& p : op.param_list_) spec.operands.push_back(Scalar(p));

  std::vector<size_t> global(3, 0), local(3, 0);
  uint32_t dims = 0;
  TIMCL_TRY(Fenced(view, "SetupEnqueue", [&] { op.SetupEnqueue(dims, global, local); }));
  if (dims < 1 || dims > 3 || global.size() < dims || local.size() < dims) {
    return view.Error(Code::kInvalidArgument, "SetupEnqueue gave " + std::to_string(dims) +
                                                  " dimensions, 1 to 3 are possible");
  }
  spec.dims = dims;
  spec.local = {0, 0, 0};
  for (uint32_t d = 0; d < dims; ++d) {
    if (global[d] == 0) global[d] = 1;
    if (local[d] != 0 && global[d] % local[d] != 0) {
      return view.Error(Code::kInvalidArgument,
                        "SetupEnqueue: global size " + std::to_string(global[d]) +
                            " of dimension " + std::to_string(d) +
                            " is not a multiple of local size " + std::to_string(local[d]));
    }
    spec.global[d] = global[d];
  }
  // All or none: a local size of 0 leaves the choice to the runtime.
  bool chosen = true;
  for (uint32_t d = 0; d < dims; ++d) chosen = chosen && local[d] != 0;
  for (uint32_t d = 0; chosen && d < 3; ++d) spec.local[d] = d < dims ? local[d] : 1;
  Launches launches;
  launches.push_back(std::move(spec));
  return launches;
}

Result<Launches> UserKernel(const OpView& view, const KernelRequest&) {
  CustomOpBase& op = *view.attrs<Attrs>().op;
  Setup& setup = *view.attrs<Attrs>().setup;
  std::vector<TensorType> inputs;
  for (size_t i = 0; i < view.num_inputs(); ++i) inputs.push_back(view.in(i).type());
  if (!setup.launches.empty()) {
    if (setup.inputs == inputs) return setup.launches;
    op.param_list_ = setup.params;  // the graph was changed after a failed Compile()
    setup.launches.clear();
  }
  setup.inputs = std::move(inputs);
  setup.params = op.param_list_;
  auto launches = SetUp(view, op);
  if (launches.ok()) {
    setup.launches = *launches;
  } else {
    op.param_list_ = setup.params;  // as if it had not been called
  }
  return launches;
}

constexpr KernelCandidate kKernels[] = {{"user", nullptr, UserKernel}};

/// The strings and the definition of one custom op.
struct Owned {
  std::string name, inputs, outputs;
  OpDef def;
};

}  // namespace

CustomOpBase::CustomOpBase(Graph* graph, uint32_t input_num, uint32_t output_num, int32_t,
                           const char* kernel_name)
    : input_num_(input_num), output_num_(output_num) {
  auto owned = std::make_shared<Owned>();
  owned->name = kernel_name && *kernel_name ? kernel_name : "CustomOp";
  owned->inputs = OperandNames("input", input_num);
  owned->outputs = OperandNames("output", output_num);
  OpDef& def = owned->def;
  def.name = owned->name;
  def.inputs = owned->inputs.c_str();
  def.outputs = owned->outputs.c_str();
  def.schema = &kAttrSchema<Attrs>;
  def.verify = Verify;
  def.infer = Infer;
  def.kernels = kKernels;
  def.declared = Declared::kOverwritten;
  auto setup = std::make_shared<Setup>();
  setup->def = &def;
  SetRuntimeDef(
      graph, std::shared_ptr<const OpDef>(owned, &def),
      AnyAttrs(&kAttrSchema<Attrs>, std::make_shared<Attrs>(Attrs{this, setup, owned->name})));
}

void CustomOpBase::SetLayoutRule(const LayoutRule& rule) {
  AttrsOf<Attrs>(*this).setup->def->layout = rule;
}

CustomOpBase::~CustomOpBase() = default;

}  // namespace tim::vx::ops

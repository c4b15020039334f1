// CustomOpBase becomes an OpDef: from here on nothing knows the difference between a user's op and
// a built-in one. Life cycle and argument order: API facts, extension.md 1.
#include <algorithm>
#include <cctype>
#include <deque>
#include <exception>
#include <set>
#include <sstream>
#include <utility>

#include "tim/vx/op_def.h"
#include "tim/vx/ops/custom_base.h"

namespace tim::vx::ops {
namespace {

/// The strings and the definition of one custom op.
struct Owned {
  std::string name, inputs, outputs, types;
  OpDef def;
};

/// What the original's members have no room for. Set-up happens once per graph: when the compiler
/// asks again, as after another op was expanded, the answer stands.
struct Setup {
  Owned* owned = nullptr;  // its definition; lives as long as the node
  Status failure;          // of Fail(), until it is reported
  std::function<Status(const ref::Inputs&, ref::Outputs&)> reference;
  bool macros = false;
  std::vector<std::string> input_names, output_names;  // for the macros

  DeviceLimits device{};
  std::deque<KernelLaunch> added;  // by AddLaunch
  std::vector<TensorType> inputs;  // what set-up was made for
  std::vector<Param> params;       // param_list_ before it
  Launches launches;               // empty before it
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

/// One of the user's Setup functions. What it told Fail() counts for this call alone: it will say
/// so again when it is asked again.
template <class F>
Status CallUser(const OpView& view, Setup& setup, const char* what, F f) {
  const Status thrown = Fenced(view, what, f);
  const Status failure = std::exchange(setup.failure, Status());
  return failure.ok() ? thrown : failure.AtOp(view.label());
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// The names given to UseTensorMacros: one per operand, each a name of C.
Status CheckNames(const OpView& view, const Setup& setup) {
  std::set<std::string> seen;
  for (const bool input : {true, false}) {
    const auto& names = input ? setup.input_names : setup.output_names;
    const size_t operands = input ? view.num_inputs() : view.num_outputs();
    if (names.size() != operands) {
      return view.Error(Code::kInvalidArgument, "UseTensorMacros names " +
                                                    std::to_string(names.size()) +
                                                    (input ? " inputs" : " outputs") +
                                                    ", but there are " + std::to_string(operands));
    }
    for (const std::string& name : names) {
      const bool word = std::all_of(name.begin(), name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
      });
      if (!word || std::isdigit(static_cast<unsigned char>(name[0]))) {
        return view.Error(Code::kInvalidArgument,
                          "UseTensorMacros: '" + name + "' is no name of OpenCL C");
      }
      if (!seen.insert(name).second)
        return view.Error(Code::kInvalidArgument, "UseTensorMacros names '" + name + "' twice");
    }
  }
  return Status();
}

Status Verify(const OpView& view) {
  const CustomOpBase& op = *view.attrs<Attrs>().op;
  const Setup& setup = *view.attrs<Attrs>().setup;
  if (!setup.failure.ok()) return setup.failure.AtOp(view.label());  // of the constructor
  if (setup.macros) TIMCL_TRY(CheckNames(view, setup));
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
    Setup& setup = *view.attrs<Attrs>().setup;
    const Status status = CallUser(view, setup, "SetupShapeInfor", [&] { op.SetupShapeInfor(); });
    if (!status.ok()) {
      op.outputs_size_.clear();  // as if it had not been called
      return status;
    }
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

Operand Value(const std::string& name, const char* cl_type, const void* bytes, size_t size) {
  const auto* first = static_cast<const std::byte*>(bytes);
  Operand o;
  o.kind = Operand::Kind::kValue;
  o.name = name;
  o.element = cl_type;
  o.data = std::make_shared<const std::vector<std::byte>>(first, first + size);
  return o;
}

/// An argument that is no tensor; `name` is for messages.
Result<Operand> ArgumentOf(const OpView& view, const Param& p, const std::string& name,
                           const DeviceCaps& caps) {
  if (p.other != nullptr) {
    const OtherArgument& other = *p.other;
    if (other.kind == OtherArgument::kValue) {
      if (!caps.has_double && other.cl_type.compare(0, 6, "double") == 0) {
        return view.Error(Code::kUnsupported, name + " is a " + other.cl_type + ", and device '" +
                                                  caps.name + "' has no double");
      }
      return Value(name, other.cl_type.c_str(), other.value.data(), other.value.size());
    }
    if (other.kind == OtherArgument::kData && !other.value.empty()) {
      Operand table = Value("a table of " + std::to_string(other.value.size()) + " bytes",
                            other.cl_type.c_str(), other.value.data(), other.value.size());
      table.kind = Operand::Kind::kData;
      return table;
    }
    Operand o;
    o.kind = other.kind == OtherArgument::kLocal ? Operand::Kind::kLocal : Operand::Kind::kScratch;
    o.index = other.index;
    o.bytes = other.bytes;
    o.name = name;
    o.element = "";
    if (o.bytes == 0) return view.Error(Code::kInvalidArgument, name + " is memory of 0 bytes");
    return o;
  }
  // The bytes of the union begin with the number, whichever member was set: little-endian.
  switch (p.type) {
    case DataType::FLOAT32:
      return Value(name, "float", &p.data, 4);
    case DataType::INT32:
      return Value(name, "int", &p.data, 4);
    case DataType::UINT32:
      return Value(name, "uint", &p.data, 4);
    case DataType::INT16:
      return Value(name, "short", &p.data, 2);
    case DataType::UINT16:
      return Value(name, "ushort", &p.data, 2);
    case DataType::BOOL8:
      return Value(name, "bool", &p.data, 1);
    case DataType::INT8:
      return Value(name, "char", &p.data, 1);
    case DataType::UINT8:
      return Value(name, "uchar", &p.data, 1);
    default:
      return view.Error(Code::kInvalidArgument,
                        name + " has type " + NameOf(p.type) +
                            ", which Param::data has no member for; "
                            "MakeParam(value) makes arguments of all types");
  }
}

DeviceLimits LimitsOf(const DeviceCaps& caps) {
  DeviceLimits limits{};
  limits.name = caps.name;
  limits.is_cpu = caps.is_cpu;
  limits.has_double = caps.has_double;
  limits.has_half = caps.has_half;
  limits.opencl_version = caps.opencl_version;
  limits.compute_units = caps.compute_units;
  limits.max_work_group = caps.max_work_group;
  limits.max_work_items = caps.max_work_items;
  limits.local_memory = caps.local_memory;
  limits.max_allocation = caps.max_allocation;
  return limits;
}

/// The work sizes of one launch; `who` gave them.
Status SetSizes(const OpView& view, const std::string& who, uint32_t dims,
                const std::vector<size_t>& global, const std::vector<size_t>& local,
                const DeviceCaps& caps, KernelSpec* spec) {
  if (dims < 1 || dims > 3 || global.size() < dims || local.size() < dims) {
    return view.Error(Code::kInvalidArgument,
                      who + " gave " + std::to_string(dims) + " dimensions, 1 to 3 are possible");
  }
  spec->dims = dims;
  spec->local = {0, 0, 0};
  // All or none: a local size of 0 leaves the choice to the runtime.
  bool chosen = true;
  size_t items = 1;
  for (uint32_t d = 0; d < dims; ++d) {
    spec->global[d] = std::max<size_t>(global[d], 1);
    chosen = chosen && local[d] != 0;
    items *= std::max<size_t>(local[d], 1);
    if (local[d] != 0 && spec->global[d] % local[d] != 0) {
      return view.Error(Code::kInvalidArgument,
                        who + ": global size " + std::to_string(spec->global[d]) +
                            " of dimension " + std::to_string(d) +
                            " is not a multiple of local size " + std::to_string(local[d]));
    }
    if (local[d] > caps.max_work_items[d]) {
      return view.Error(Code::kInvalidArgument, who + ": local size " + std::to_string(local[d]) +
                                                    " of dimension " + std::to_string(d) +
                                                    " is more than the " +
                                                    std::to_string(caps.max_work_items[d]) +
                                                    " of device '" + caps.name + "'");
    }
  }
  if (items > caps.max_work_group) {
    return view.Error(Code::kInvalidArgument, who + ": work-groups of " + std::to_string(items) +
                                                  " work-items are more than the " +
                                                  std::to_string(caps.max_work_group) +
                                                  " of device '" + caps.name + "'");
  }
  for (uint32_t d = 0; chosen && d < 3; ++d) spec->local[d] = d < dims ? local[d] : 1;
  return Status();
}

Status CheckLocalMemory(const OpView& view, const KernelSpec& spec, const DeviceCaps& caps) {
  size_t bytes = 0;
  for (const Operand& o : spec.operands) {
    if (o.kind == Operand::Kind::kLocal) bytes += o.bytes;
  }
  if (bytes <= caps.local_memory) return Status();
  return view.Error(Code::kUnsupported, "kernel function '" + spec.entry + "' is given " +
                                            std::to_string(bytes) +
                                            " bytes of local memory, and device '" + caps.name +
                                            "' has " + std::to_string(caps.local_memory));
}

/// A launch that the op added itself.
Result<KernelSpec> SpecOf(const OpView& view, const KernelLaunch& launch, const KernelSpec& common,
                          const DeviceCaps& caps) {
  KernelSpec spec = common;
  spec.entry = launch.function();
  const std::string who = "launch '" + spec.entry + "'";
  for (const KernelLaunch::Argument& a : launch.arguments()) {
    if (a.kind == KernelLaunch::Argument::kParam) {
      const std::string name = "argument " + std::to_string(spec.operands.size());
      TIMCL_ASSIGN(Operand o, ArgumentOf(view, a.param, name, caps));
      spec.operands.push_back(std::move(o));
      continue;
    }
    const bool input = a.kind == KernelLaunch::Argument::kInput;
    const size_t count = input ? view.num_inputs() : view.num_outputs();
    if (a.index >= count) {
      return view.Error(Code::kInvalidArgument, who + " takes " + (input ? "input " : "output ") +
                                                    std::to_string(a.index) + ", but there are " +
                                                    std::to_string(count));
    }
    spec.operands.push_back(input ? In(a.index, "") : Out(a.index, ""));
  }
  const auto &global = launch.global(), &local = launch.local();
  TIMCL_TRY(SetSizes(view, who, launch.dim(), {global.begin(), global.end()},
                     {local.begin(), local.end()}, caps, &spec));
  return spec;
}

/// Calls SetupParams and SetupEnqueue.
Result<Launches> SetUp(const OpView& view, CustomOpBase& op, Setup& setup, const DeviceCaps& caps) {
  std::vector<DataType> input_types;
  for (size_t i = 0; i < view.num_inputs(); ++i) input_types.push_back(view.in(i).dtype());
  setup.device = LimitsOf(caps);
  setup.added.clear();
  KernelSpec common;
  op.func_name_ = nullptr;
  TIMCL_TRY(CallUser(view, setup, "SetupParams",
                     [&] { op.SetupParams(input_types, common.build_options); }));
  std::vector<size_t> global(3, 0), local(3, 0);
  uint32_t dims = 0;
  const bool named = op.func_name_ != nullptr && *op.func_name_ != 0;
  TIMCL_TRY(CallUser(view, setup, "SetupEnqueue", [&] { op.SetupEnqueue(dims, global, local); }));
  common.user_source = op.kernel_resource_;
  common.image_operands = true;
  if (setup.macros) {
    common.input_names = setup.input_names;
    common.output_names = setup.output_names;
  }
  Launches launches;
  for (const KernelLaunch& launch : setup.added) {
    TIMCL_ASSIGN(KernelSpec spec, SpecOf(view, launch, common, caps));
    launches.push_back(std::move(spec));
  }
  if (launches.empty()) {
    if (!named) {
      return view.Error(Code::kInvalidArgument,
                        "SetupParams did not set func_name_, the kernel function to run");
    }
    KernelSpec spec = common;
    spec.entry = op.func_name_;
    for (size_t i = 0; i < view.num_inputs(); ++i) spec.operands.push_back(In(i, ""));
    for (size_t i = 0; i < view.num_outputs(); ++i) spec.operands.push_back(Out(i, ""));
    for (size_t i = 0; i < op.param_list_.size(); ++i) {
      const std::string name = "param_list_[" + std::to_string(i) + "]";
      TIMCL_ASSIGN(Operand o, ArgumentOf(view, op.param_list_[i], name, caps));
      spec.operands.push_back(std::move(o));
    }
    TIMCL_TRY(SetSizes(view, "SetupEnqueue", dims, global, local, caps, &spec));
    launches.push_back(std::move(spec));
  }
  for (const KernelSpec& spec : launches) TIMCL_TRY(CheckLocalMemory(view, spec, caps));
  return launches;
}

Result<Launches> UserKernel(const OpView& view, const KernelRequest& request) {
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
  auto launches = SetUp(view, op, setup, request.caps);
  if (launches.ok()) {
    setup.launches = *launches;
  } else {
    op.param_list_ = setup.params;  // as if it had not been called
  }
  return launches;
}

Status RunReference(const OpView& view, const ref::Inputs& inputs, ref::Outputs& outputs) {
  const auto& reference = view.attrs<Attrs>().setup->reference;
  Status result;
  TIMCL_TRY(Fenced(view, "the reference", [&] { result = reference(inputs, outputs); }));
  return result.ok() ? result : std::move(result).AtOp(view.label());
}

constexpr KernelCandidate kKernels[] = {{"user", nullptr, UserKernel}};

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
  setup->owned = owned.get();
  SetRuntimeDef(
      graph, std::shared_ptr<const OpDef>(owned, &def),
      AnyAttrs(&kAttrSchema<Attrs>, std::make_shared<Attrs>(Attrs{this, setup, owned->name})));
}

void CustomOpBase::SetLayoutRule(const LayoutRule& rule) {
  AttrsOf<Attrs>(*this).setup->owned->def.layout = rule;
}

void CustomOpBase::SetTypes(const std::string& types) {
  Owned& owned = *AttrsOf<Attrs>(*this).setup->owned;
  owned.types = types;
  owned.def.types = owned.types.c_str();
  if (const Status status = ParseTypes(owned.def); !status.ok()) {
    owned.def.types = nullptr;
    Fail(status.code(), "SetTypes: " + status.detail());
  }
}

void CustomOpBase::Fail(Code code, const std::string& message) {
  Setup& setup = *AttrsOf<Attrs>(*this).setup;
  if (setup.failure.ok()) setup.failure = Status::Error(code, message);
}

void CustomOpBase::SetReference(ReferenceFunction reference) {
  Setup& setup = *AttrsOf<Attrs>(*this).setup;
  setup.owned->def.reference = reference ? RunReference : nullptr;
  setup.reference = std::move(reference);
}

void CustomOpBase::UseTensorMacros(const std::string& inputs, const std::string& outputs) {
  Setup& setup = *AttrsOf<Attrs>(*this).setup;
  setup.macros = true;
  setup.input_names = Words(inputs);
  setup.output_names = Words(outputs);
}

const DeviceLimits& CustomOpBase::Device() const { return AttrsOf<Attrs>(*this).setup->device; }

KernelLaunch& CustomOpBase::AddLaunch(const std::string& function) {
  auto& added = AttrsOf<Attrs>(*this).setup->added;
  added.emplace_back(function);
  return added.back();
}

void CustomOpBase::SetWorkItems(size_t n, uint32_t& dim, std::vector<size_t>& global_size,
                                std::vector<size_t>& local_size) const {
  // Fewer than fill a group: a smaller group, so that not more work-items than needed run.
  size_t group = 1;
  const size_t most = std::min<size_t>(Device().is_cpu ? 16 : 64, Device().max_work_group);
  while (group * 2 <= most && group < n) group *= 2;
  dim = 1;
  global_size.assign(3, 1);
  local_size.assign(3, 1);
  global_size[0] = RoundUp(std::max<size_t>(n, 1), group);
  local_size[0] = group;
}

void CustomOpBase::SetWorkItems(const ShapeType& shape, uint32_t& dim,
                                std::vector<size_t>& global_size,
                                std::vector<size_t>& local_size) const {
  dim = 3;
  global_size.assign(3, 1);
  local_size.assign(3, 0);  // the library's choice
  for (size_t d = 0; d < shape.size(); ++d) global_size[std::min<size_t>(d, 2)] *= shape[d];
}

Half::Half(float value) {
  const TensorType type{DataType::FLOAT16, {1}, Quantization()};
  ref::Output(&bits, type).Set(0, static_cast<double>(value));
}

CustomOpBase::~CustomOpBase() = default;

}  // namespace tim::vx::ops

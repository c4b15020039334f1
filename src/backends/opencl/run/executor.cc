// Setting arguments once and enqueuing launches: see executor.h.
#include "backends/opencl/run/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "backends/opencl/run/cl_error.h"
#include "backends/opencl/run/images.h"
#include "backends/opencl/run/peaks.h"
#include "backends/opencl/run/process.h"
#include "base/log.h"

namespace tim::vx::opencl {
namespace {

constexpr size_t kHeader = kernel::Memory::kHeaderBytes;

/// Images over what is no tensor have no extents.
std::string WrongImages(const std::string& function, const std::vector<Arg>& passed,
                        const Signature& declared) {
  for (size_t i = 0; i < passed.size(); ++i) {
    const Arg& arg = passed[i];
    const bool tensor = arg.kind == Arg::Kind::kInput || arg.kind == Arg::Kind::kOutput ||
                        arg.kind == Arg::Kind::kConstant || arg.type.dtype != DataType::UNKNOWN;
    if (tensor || !declared[i].IsImage()) continue;
    return fmt::format(
        "parameter {} of kernel function '{}' is an image, but the argument is no tensor{}", i,
        function, arg.what.empty() ? "" : ": " + arg.what);
  }
  return "";
}

/// A work-group that the device cannot hold, with what this kernel takes.
std::string WrongWorkGroup(const Launch& launch, const cl::Kernel& kernel,
                           const cl::Device& device) {
  size_t items = 1;
  for (uint32_t d = 0; d < std::min(launch.dims, 3u); ++d) items *= launch.local[d];
  cl_int error = CL_SUCCESS;
  const size_t limit = kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device, &error);
  if (error != CL_SUCCESS || items <= limit) return "";
  return fmt::format("work-groups of {} work-items; this kernel can have {} on this device", items,
                     limit);
}

/// The header of argument k, which is an image; errors name the operand.
Result<ImageHeader> HeaderOf(const Launch& launch, size_t k, const TensorType& type) {
  auto header = HeaderFor(type);
  if (header.ok()) return header;
  const std::string& what = launch.args[k].what;
  return Status::Error(
      header.status().code(),
      fmt::format("{}: {}: {}", launch.label, what.empty() ? fmt::format("argument {}", k) : what,
                  header.status().detail()));
}

/// What of the session's memory an argument means.
struct Target {
  kernel::Memory* memory = nullptr;
  size_t offset = 0, bytes = 0;
  const TensorType* type = nullptr;
  std::string name;  // for messages
};

Result<Target> TargetOf(const kernel::Io& io, const Arg& arg, const std::string& label) {
  Target t;
  const kernel::Buffer* base = nullptr;
  if (arg.kind == Arg::Kind::kInput || arg.kind == Arg::Kind::kOutput) {
    const bool input = arg.kind == Arg::Kind::kInput;
    const auto& list = input ? io.inputs : io.outputs;
    if (arg.index >= list.size()) {
      return Status::Error(Code::kInternal,
                           fmt::format("{}: {} {} of a partition that has {}", label,
                                       input ? "input" : "output", arg.index, list.size()));
    }
    base = &list[arg.index];
    t.offset = base->offset;
    t.bytes = base->type.bytes();
    t.type = arg.type.dtype == DataType::UNKNOWN ? &base->type : &arg.type;
    t.name =
        fmt::format("{} '{}' {}", input ? "input" : "output", base->name, base->type.ToString());
  } else {
    base = arg.kind == Arg::Kind::kInternal ? &io.scratch : &io.persistent;
    t.offset = base->offset + arg.offset;
    t.bytes = arg.bytes;
    t.type = &arg.type;
    t.name = "a value inside the partition";
    if (arg.type.dtype != DataType::UNKNOWN) t.name += " " + arg.type.ToString();
  }
  t.memory = base->memory;
  if (t.memory == nullptr) {
    return Status::Error(Code::kInternal, fmt::format("{}: {} has no memory", label, t.name));
  }
  if (t.offset > t.memory->bytes() || t.bytes > t.memory->bytes() - t.offset) {
    return Status::Error(Code::kInternal,
                         fmt::format("{}: {} takes bytes {} to {} of memory that has {}", label,
                                     t.name, t.offset, t.offset + t.bytes, t.memory->bytes()));
  }
  return t;
}

}  // namespace

Status PartitionKernel::CheckLaunch(const Launch& launch, const cl::Kernel& kernel,
                                    const Signature* signature) {
  const std::string& function = plan_->kernels[launch.variant].function;
  cl_int error = CL_SUCCESS;
  const auto count = kernel.getInfo<CL_KERNEL_NUM_ARGS>(&error);
  TIMCL_TRY(ClStatus(error, "clGetKernelInfo", function));
  std::string what;
  if (signature != nullptr) {
    what = CompareSignature(function, launch.args, *signature);
    if (what.empty()) what = WrongImages(function, launch.args, *signature);
    if (what.empty()) what = WrongWorkGroup(launch, kernel, session_->device().entry().device);
  } else if (launch.args.size() != count) {
    what = fmt::format("kernel function '{}' has {} parameters, but {} arguments are passed",
                       function, count, launch.args.size());
  }
  if (launch.dims < 1 || launch.dims > 3)
    what = fmt::format("{} work dimensions; there can be 1 to 3", launch.dims);
  for (uint32_t d = 0; d < std::min(launch.dims, 3u); ++d) {
    if (launch.global[d] == 0) what = fmt::format("the global size of work dimension {} is 0", d);
  }
  if (!what.empty()) return Status::Error(Code::kInvalidArgument, launch.label + ": " + what);
  if (signature == nullptr) return Status();
  for (const std::string& doubt : DoubtsOf(launch.args, *signature)) {
    warnings_.push_back(fmt::format("{}: kernel function '{}': {}", launch.label, function, doubt));
  }
  return Status();
}

PartitionKernel::~PartitionKernel() {
  // Launches in flight use our kernels and memory.
  (void)session_->Finish();
}

size_t PartitionKernel::Watch(kernel::Memory* memory) {
  DeviceMirror* mirror = session_->MirrorOf(memory);
  for (size_t i = 0; i < watched_.size(); ++i) {
    if (watched_[i].mirror == mirror) return i;
  }
  watched_.push_back({mirror, mirror->Follow()});
  return watched_.size() - 1;
}

Status PartitionKernel::Prepare(const kernel::Io& io) {
  TIMCL_TRY(session_->Finish());
  if (programs_.size() != plan_->programs.size())
    return Status::Error(Code::kInternal, "not one program per text");
  prepared_ = false;
  io_ = io;
  steps_.clear();
  bindings_.clear();
  watched_.clear();
  warnings_.clear();
  steps_.resize(plan_->launches.size());
  for (size_t i = 0; i < plan_->launches.size(); ++i) TIMCL_TRY(PrepareStep(io, i));
  // Only now: headers are written from bindings_, whose entries no longer move.
  for (Binding& b : bindings_) {
    TIMCL_TRY(Bind(&b));
    if (!b.use_stage) continue;
    warnings_.push_back(fmt::format(
        "{}: argument {} is an image whose memory has no room for its header, so it is copied in "
        "every run",
        plan_->launches[b.step].label, b.index));
  }
  if (!session_->device().caps().shared_memory) {
    // The buffers of what only crosses the border, so that Execute allocates nothing.
    for (const auto* list : {&io_.inputs, &io_.outputs}) {
      for (const kernel::Buffer& b : *list) {
        if (b.memory == nullptr || b.constant) continue;
        (void)Watch(b.memory);
      }
    }
  }
  if (plan_->zero_persistent) std::memset(io_.persistent.Data(), 0, plan_->persistent_bytes);
  if (session_->device().entry().compiles_when_run) TIMCL_TRY(Rehearse());
  TIMCL_TRY(session_->Finish());  // of headers that were sent
  prepared_ = true;
  return Status();
}

Status PartitionKernel::Rehearse() {
  // PoCL compiles a kernel for each local size, and once more for global sizes beyond 65535.
  constexpr size_t kSmallGrid = 65535;
  struct Rehearsal {
    size_t step = 0;
    std::array<size_t, 3> global{};
  };
  std::vector<Rehearsal> rehearsals;
  std::set<std::pair<std::string, std::array<size_t, 6>>> known;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const KernelRef& kernel = plan_->kernels[plan_->launches[i].variant];
    if (!plan_->launches[i].may_rehearse) continue;
    std::array<size_t, 3> global = step.global;
    std::array<size_t, 6> form{};
    for (uint32_t d = 0; d < 3 && step.has_local; ++d) {
      const size_t least = global[d] > kSmallGrid ? kSmallGrid + 1 : 1;
      global[d] = (least + step.local[d] - 1) / step.local[d] * step.local[d];
      form[d] = step.local[d];
      form[d + 3] = global[d];
    }
    // Without a local size the driver chooses one by the global size.
    if (!step.has_local) std::copy(global.begin(), global.end(), form.begin());
    if (known.emplace(fmt::format("{} {}", kernel.program, kernel.function), form).second)
      rehearsals.push_back({i, global});
  }
  // Results go elsewhere: the caller's memory stays as it is.
  size_t most = 0;
  for (const Binding& b : bindings_) {
    if (IsResult(b) && !b.image) most = std::max(most, b.bytes);
  }
  std::vector<cl::Buffer> apart;
  // With a margin around it, where there is room for one: a user's kernel that goes astray does no
  // harm before it runs in earnest.
  const auto make = [&](size_t bytes, const std::string& label) -> Status {
    constexpr size_t kMargin = size_t{64} << 10;
    const size_t limit = session_->device().caps().max_allocation;
    const size_t margin = bytes <= limit && limit - bytes >= 2 * kMargin ? kMargin : 0;
    cl_int error = CL_SUCCESS;
    cl::Buffer whole(session_->device().context(), CL_MEM_READ_WRITE, bytes + 2 * margin, nullptr,
                     &error);
    TIMCL_TRY(ClStatus(error, "clCreateBuffer", label));
    cl_buffer_region region = {margin, bytes};
    apart.push_back(
        whole.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
    return ClStatus(error, "clCreateSubBuffer", label);
  };
  if (most > 0) TIMCL_TRY(make(most, "memory to rehearse in"));
  const cl::CommandQueue& queue = session_->queue();
  session_->NoteWork();
  for (size_t done = 0; done < rehearsals.size(); ++done) {
    const auto& [i, global] = rehearsals[done];
    const Step& step = steps_[i];
    const Launch& launch = plan_->launches[i];
    if (progress_) progress_("compiling kernels", done, rehearsals.size());
    for (const Binding& b : bindings_) {
      if (b.step != i || !IsResult(b)) continue;
      cl_mem memory = apart.empty() ? nullptr : apart.front()();
      if (b.image) {
        TIMCL_TRY(make(kHeader + b.bytes, launch.label));
        TIMCL_TRY(ClStatus(queue.enqueueWriteBuffer(apart.back(), CL_FALSE, 0, kHeader, &b.header),
                           "clEnqueueWriteBuffer", launch.label));
        memory = apart.back()();
      }
      TIMCL_TRY(ClStatus(steps_[i].kernel.setArg(b.index, sizeof memory, &memory), "clSetKernelArg",
                         launch.label));
    }
    TIMCL_TRY(SetAmounts(i, true));
    TIMCL_TRY(ClStatus(
        clEnqueueNDRangeKernel(queue(), step.kernel(), launch.dims, nullptr, global.data(),
                               step.has_local ? step.local.data() : nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel", launch.label));
  }
  TIMCL_TRY(session_->Finish());
  for (Binding& b : bindings_) {
    if (IsResult(b)) TIMCL_TRY(Bind(&b));
  }
  for (size_t i = 0; i < steps_.size(); ++i) TIMCL_TRY(SetAmounts(i, false));
  return Status();
}

Status PartitionKernel::SetAmounts(size_t index, bool none) {
  const Launch& launch = plan_->launches[index];
  constexpr decltype(Arg::value) kNone{};
  for (size_t k = 0; k < launch.args.size(); ++k) {
    const Arg& arg = launch.args[k];
    if (!arg.is_amount) continue;
    const auto& value = none ? kNone : arg.value;
    TIMCL_TRY(
        ClStatus(steps_[index].kernel.setArg(static_cast<cl_uint>(k), arg.bytes, value.data()),
                 "clSetKernelArg", launch.label));
  }
  return Status();
}

bool PartitionKernel::IsResult(const Binding& b) const {
  return b.writes && !b.use_stage &&
         plan_->launches[b.step].args[b.index].kind == Arg::Kind::kOutput;
}

Status PartitionKernel::PrepareStep(const kernel::Io& io, size_t index) {
  const Launch& launch = plan_->launches[index];
  if (launch.variant >= plan_->kernels.size() ||
      plan_->kernels[launch.variant].program >= programs_.size()) {
    return Status::Error(Code::kInternal, launch.label + ": a kernel that is not there");
  }
  const std::string& function = plan_->kernels[launch.variant].function;
  const BuiltProgram& built = *programs_[plan_->kernels[launch.variant].program];
  const auto known = built.signatures.find(function);
  const Signature* const signature = known == built.signatures.end() ? nullptr : &known->second;
  Step& step = steps_[index];
  cl_int error = CL_SUCCESS;
  step.kernel = cl::Kernel(built.program, function.c_str(), &error);
  TIMCL_TRY(ClStatus(error, "clCreateKernel", launch.label + ": " + function));
  TIMCL_TRY(CheckLaunch(launch, step.kernel, signature));

  step.has_local = true;
  for (uint32_t d = 0; d < launch.dims; ++d) step.has_local = step.has_local && launch.local[d] > 0;
  for (uint32_t d = 0; d < 3; ++d) {
    const bool used = d < launch.dims;
    step.local[d] = used && step.has_local ? launch.local[d] : 1;
    step.global[d] =
        used ? (launch.global[d] + step.local[d] - 1) / step.local[d] * step.local[d] : 1;
  }

  for (size_t k = 0; k < launch.args.size(); ++k) {
    const Arg& arg = launch.args[k];
    const bool image = signature != nullptr && (*signature)[k].IsImage();
    switch (arg.kind) {
      case Arg::Kind::kScalar:
        error = step.kernel.setArg(static_cast<cl_uint>(k), arg.bytes, arg.value.data());
        break;
      case Arg::Kind::kLocal:
        error = step.kernel.setArg(static_cast<cl_uint>(k), arg.bytes, nullptr);
        break;
      case Arg::Kind::kConstant: {
        if (arg.index >= plan_->constants.size())
          return Status::Error(Code::kInternal, launch.label + ": a constant that is not there");
        const Constant& constant = plan_->constants[arg.index];
        cl_mem memory = nullptr;
        if (image) {
          const TensorType& type = arg.type.dtype == DataType::UNKNOWN ? constant.type : arg.type;
          TIMCL_ASSIGN(const ImageHeader header, HeaderOf(launch, k, type));
          TIMCL_ASSIGN(memory, session_->ConstantImage(constant, header, launch.label));
        } else {
          TIMCL_ASSIGN(memory, session_->ConstantOf(constant, launch.label));
        }
        error = step.kernel.setArg(static_cast<cl_uint>(k), sizeof memory, &memory);
        break;
      }
      default:
        TIMCL_TRY(AddBinding(io, index, k, image));
        continue;
    }
    TIMCL_TRY(ClStatus(error, "clSetKernelArg",
                       fmt::format("{}: argument {} of '{}'", launch.label, k, function)));
  }
  return Status();
}

Status PartitionKernel::AddBinding(const kernel::Io& io, size_t launch_index, size_t argument,
                                   bool image) {
  const Launch& launch = plan_->launches[launch_index];
  const Arg& arg = launch.args[argument];
  TIMCL_ASSIGN(const Target target, TargetOf(io, arg, launch.label));
  const uint64_t limit = session_->device().caps().max_allocation;
  if (target.bytes > limit) {
    return Status::Error(
        Code::kOutOfMemory,
        fmt::format("{}: {} takes {} bytes, and the device's largest allocation is {}",
                    launch.label, target.name, target.bytes, limit));
  }
  Binding b;
  b.step = launch_index;
  b.index = static_cast<cl_uint>(argument);
  b.mirror = Watch(target.memory);
  b.offset = target.offset;
  b.bytes = target.bytes;
  b.image = image;
  b.room = arg.kind == Arg::Kind::kPersistent && arg.has_header_room && target.offset >= kHeader;
  b.reads = arg.reads;
  b.writes = arg.writes;
  if (image) {
    TIMCL_ASSIGN(b.header, HeaderOf(launch, argument, *target.type));
    steps_[launch_index].staged.push_back(bindings_.size());
  }
  bindings_.push_back(std::move(b));
  return Status();
}

Status PartitionKernel::Bind(Binding* b) {
  const Launch& launch = plan_->launches[b->step];
  DeviceMirror* mirror = watched_[b->mirror].mirror;
  cl_mem argument = nullptr;
  if (b->image) {
    TIMCL_ASSIGN(argument, mirror->Image(b->offset, b->bytes, b->room, b->header, launch.label));
  }
  b->use_stage = b->image && argument == nullptr;
  if (argument == nullptr) {
    TIMCL_ASSIGN(b->piece, mirror->Piece(b->offset, b->bytes, launch.label));
    argument = b->piece;
  }
  if (b->use_stage) {
    if (b->stage() == nullptr) {
      cl_int error = CL_SUCCESS;
      cl::Buffer stage(session_->device().context(), CL_MEM_READ_WRITE, kHeader + b->bytes, nullptr,
                       &error);
      TIMCL_TRY(ClStatus(error, "clCreateBuffer", launch.label));
      session_->NoteWork();
      TIMCL_TRY(
          ClStatus(session_->queue().enqueueWriteBuffer(stage, CL_FALSE, 0, kHeader, &b->header),
                   "clEnqueueWriteBuffer", launch.label));
      b->stage = std::move(stage);
    }
    argument = b->stage();
  }
  return ClStatus(steps_[b->step].kernel.setArg(b->index, sizeof argument, &argument),
                  "clSetKernelArg",
                  fmt::format("{}: argument {} of '{}'", launch.label, b->index,
                              plan_->kernels[launch.variant].function));
}

Status PartitionKernel::CopyStage(const Binding& b, bool in) {
  const cl_mem stage = b.stage();
  const Launch& launch = plan_->launches[b.step];
  cl_event* const event = Time(&launch, "copy of an image", 2 * b.bytes);
  return ClStatus(in ? clEnqueueCopyBuffer(session_->queue()(), b.piece, stage, 0, kHeader, b.bytes,
                                           0, nullptr, event)
                     : clEnqueueCopyBuffer(session_->queue()(), stage, b.piece, kHeader, 0, b.bytes,
                                           0, nullptr, event),
                  "clEnqueueCopyBuffer", launch.label);
}

Status PartitionKernel::WriteInputs() {
  for (size_t i = 0; i < io_.inputs.size(); ++i) {
    const kernel::Buffer& b = io_.inputs[i];
    if (b.memory == nullptr || b.constant) continue;
    DeviceMirror* mirror = session_->MirrorOf(b.memory);
    DeviceMirror::Exchange& exchange = mirror->ExchangeOf(b.offset);
    // A launch of this very run made it: the device has it, the host not yet.
    if (exchange.made_in_run == session_->run()) continue;
    const uint64_t version = b.memory->host_version();
    const bool only_host = i < plan_->host_inputs.size() && plan_->host_inputs[i];
    // Steps of other backends change memory without a new version.
    if (only_host && exchange.version == version) continue;
    TIMCL_ASSIGN(const cl_mem piece, mirror->Piece(b.offset, b.type.bytes(), b.name));
    TIMCL_TRY(ClStatus(
        clEnqueueWriteBuffer(session_->queue()(), piece, CL_FALSE, 0, b.type.bytes(), b.Data(), 0,
                             nullptr, Time(nullptr, "copy to the device", b.type.bytes())),
        "clEnqueueWriteBuffer", "input '" + b.name + "'"));
    exchange.version = version;
  }
  return Status();
}

Status PartitionKernel::ReadOutputs() {
  for (const kernel::Buffer& b : io_.outputs) {
    if (b.memory == nullptr) continue;
    DeviceMirror* mirror = session_->MirrorOf(b.memory);
    TIMCL_ASSIGN(const cl_mem piece, mirror->Piece(b.offset, b.type.bytes(), b.name));
    TIMCL_TRY(ClStatus(
        clEnqueueReadBuffer(session_->queue()(), piece, CL_FALSE, 0, b.type.bytes(), b.Data(), 0,
                            nullptr, Time(nullptr, "copy to the host", b.type.bytes())),
        "clEnqueueReadBuffer", "output '" + b.name + "'"));
    mirror->ExchangeOf(b.offset).made_in_run = session_->run();
  }
  return Status();
}

Status PartitionKernel::EnqueueAll() {
  for (Watched& w : watched_) {
    const uint64_t generation = w.mirror->Follow();
    if (generation == w.generation) continue;
    for (Binding& b : bindings_) {
      if (watched_[b.mirror].mirror == w.mirror) TIMCL_TRY(Bind(&b));
    }
    w.generation = generation;
  }
  const bool copies = !session_->device().caps().shared_memory;
  if (copies) TIMCL_TRY(WriteInputs());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const Launch& launch = plan_->launches[i];
    for (const size_t k : step.staged) {
      if (bindings_[k].use_stage && bindings_[k].reads) TIMCL_TRY(CopyStage(bindings_[k], true));
    }
    TIMCL_TRY(
        ClStatus(clEnqueueNDRangeKernel(session_->queue()(), step.kernel(), launch.dims, nullptr,
                                        step.global.data(),
                                        step.has_local ? step.local.data() : nullptr, 0, nullptr,
                                        Time(&launch, plan_->kernels[launch.variant].function,
                                             timed_ != nullptr ? BytesOf(launch, *plan_) : 0)),
                 "clEnqueueNDRangeKernel", launch.label));
    for (const size_t k : step.staged) {
      if (bindings_[k].use_stage && bindings_[k].writes) TIMCL_TRY(CopyStage(bindings_[k], false));
    }
  }
  return copies ? ReadOutputs() : Status();
}

bool PartitionKernel::Moved() {
  return std::any_of(watched_.begin(), watched_.end(),
                     [](const Watched& w) { return w.mirror->Follow() != w.generation; });
}

Status PartitionKernel::Execute() {
  TIMCL_TRY(CheckProcess());
  if (!prepared_) return Status::Error(Code::kInternal, "Execute before a successful Prepare");
  session_->NoteWork();
  const Status status = EnqueueAll();
  if (!status.ok()) (void)session_->Finish();  // what was enqueued before still uses our memory
  return status;
}

cl_event* PartitionKernel::Time(const Launch* launch, const std::string& what, uint64_t bytes) {
  if (timed_ == nullptr) return nullptr;
  Timed& timed = timed_->emplace_back();
  timed.timing.kernel = what;
  timed.timing.bytes = bytes;
  if (launch != nullptr) {
    timed.timing.op = launch->op;
    timed.timing.label = launch->label;
    timed.timing.flops = launch->flops;
    timed.timing.tile = launch->tile;
    const bool bf16 = what.find("_bf16") != std::string::npos;  // as such kernels are called
    const Factors factors = bf16                  ? Factors::kBf16
                            : ReadsBytes(*launch) ? Factors::kBytes
                                                  : Factors::kFloats;
    timed.timing.least_seconds = session_->device().peaks().Least(launch->flops, factors, bytes);
  }
  return &timed.event();
}

Status PartitionKernel::TimeAll(std::vector<kernel::Timing>* timings) {
  (void)session_->device().peaks();  // measured before anything is timed
  std::vector<Timed> timed;
  timed_ = &timed;
  const Status executed = Execute();
  timed_ = nullptr;
  TIMCL_TRY(executed);
  TIMCL_TRY(session_->Finish());
  cl_ulong first = std::numeric_limits<cl_ulong>::max();
  for (Timed& t : timed) {
    cl_int error = CL_SUCCESS, error2 = CL_SUCCESS;
    const auto start = t.event.getProfilingInfo<CL_PROFILING_COMMAND_START>(&error),
               end = t.event.getProfilingInfo<CL_PROFILING_COMMAND_END>(&error2);
    TIMCL_TRY(ClStatus(error != CL_SUCCESS ? error : error2, "clGetEventProfilingInfo",
                       t.timing.label.empty() ? t.timing.kernel : t.timing.label));
    t.timing.seconds = end > start ? static_cast<double>(end - start) * 1e-9 : 0;
    first = std::min(first, start);
    t.timing.start = static_cast<double>(start - first) * 1e-9;
    timings->push_back(std::move(t.timing));
  }
  return Status();
}

Status PartitionKernel::Profile(std::vector<kernel::Timing>* timings) {
  TIMCL_TRY(session_->SetProfiling(true));
  Status timed;
  try {
    timed = TimeAll(timings);
  } catch (...) {
    timed_ = nullptr;
    (void)session_->SetProfiling(false);
    throw;
  }
  const Status back = session_->SetProfiling(false);
  return timed.ok() ? back : timed;
}

}  // namespace tim::vx::opencl

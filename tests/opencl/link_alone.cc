// Runs a plan written by hand with nothing linked but base, runtime and the run half: what a loader
// of compiled graphs will be.
#include <cstdio>
#include <cstring>
#include <memory>

#include "backends/opencl/run/device.h"
#include "backends/opencl/run/executor.h"
#include "backends/opencl/run/program_cache.h"
#include "backends/opencl/run/session.h"
#include "runtime/executable.h"

namespace {

using tim::vx::Code;
using tim::vx::DataType;
using tim::vx::Result;
using tim::vx::Status;
using tim::vx::TensorType;
namespace opencl = tim::vx::opencl;
namespace runtime = tim::vx::runtime;

/// Only its name is asked for.
class Nameless : public tim::vx::Backend {
 public:
  const tim::vx::BackendInfo& Info() const override { return info_; }
  Status Partition(const tim::vx::GraphView&, tim::vx::Selection*) override { return Status(); }
  Status Compile(const std::vector<tim::vx::GraphView>&, const tim::vx::CompileEnv&,
                 tim::vx::CompiledUnits*) override {
    return Status();
  }
  Status Load(const std::vector<tim::vx::CodeModule>&, const std::vector<tim::vx::Call>&,
              const tim::vx::CompileEnv&, tim::vx::LoadedUnits*) override {
    return Status();
  }

 private:
  tim::vx::BackendInfo info_;
};

opencl::Arg ArgOf(opencl::Arg::Kind kind) {
  opencl::Arg arg;
  arg.kind = kind;
  return arg;
}

Result<float> Run() {
  TIMCL_ASSIGN(const opencl::DeviceChoice choice, opencl::ChooseDevice("", ""));
  TIMCL_ASSIGN(auto device, opencl::Device::Open(choice.chosen()));
  TIMCL_ASSIGN(auto session, opencl::Session::Create(device));
  auto plan = std::make_shared<opencl::PartitionPlan>();
  plan->programs = {std::make_shared<opencl::ProgramText>(
      opencl::ProgramText{"kernel void twice(global const float* x, global float* y) {\n"
                          "  y[get_global_id(0)] = 2 * x[get_global_id(0)];\n"
                          "}\n",
                          "",
                          "twice.cl",
                          {"twice"}})};
  plan->kernels = {{0, "twice"}};
  opencl::Launch launch;
  launch.args = {ArgOf(opencl::Arg::Kind::kInput), ArgOf(opencl::Arg::Kind::kOutput)};
  launch.global = {4, 1, 1};
  launch.label = "Twice#1";
  plan->launches = {launch};
  opencl::BuiltPrograms programs;
  opencl::BuildStats stats;
  TIMCL_TRY(opencl::ProgramCache(device, {}).Build(plan->programs, "", &programs, &stats));

  const TensorType type{DataType::FLOAT32, {4}, tim::vx::Quantization()};
  auto x = tim::vx::base::Storage::Allocate(16), y = tim::vx::base::Storage::Allocate(16);
  const float values[4] = {1, 2, 3, 4};
  std::memcpy(x->data(), values, sizeof values);
  runtime::Step step;
  step.kernel = std::make_unique<opencl::PartitionKernel>(session, plan, programs);
  step.backend = std::make_shared<Nameless>();
  step.io.inputs.resize(1);
  step.io.outputs.resize(1);
  step.io.inputs[0].type = step.io.outputs[0].type = type;
  step.io.inputs[0].memory = x.get();
  step.io.outputs[0].memory = y.get();
  step.input_values = {0};
  step.output_values = {1};
  std::vector<runtime::Step> steps;
  steps.push_back(std::move(step));
  TIMCL_ASSIGN(auto executable, runtime::Executable::Create(std::move(steps), {}));
  TIMCL_TRY(executable->Run());
  return static_cast<const float*>(y->data())[3];
}

}  // namespace

int main() {
  const Result<float> result = Run();
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    return 1;
  }
  std::printf("%g\n", static_cast<double>(*result));
  return *result == 8.0f ? 0 : 1;
}

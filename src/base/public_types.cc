// Bodies of public classes that whoever runs a compiled graph needs, also without IR and compiler.
#include <chrono>
#include <utility>

#include "tim/vx/backend.h"
#include "tim/vx/tensor.h"

namespace tim::vx {

Quantization& Quantization::SetScales(std::vector<float> scales) {
  scales_ = std::move(scales);
  return *this;
}

Quantization& Quantization::SetZeroPoints(std::vector<int32_t> zero_points) {
  zero_points_ = std::move(zero_points);
  return *this;
}

bool Quantization::operator==(const Quantization& other_quant) const {
  // The lopsided rule of the original; callers see it through TensorSpec's comparison.
  if (type_ == QuantType::DYNAMIC_FIXED_POINT) return fl_ == other_quant.fl_;
  return type_ == other_quant.type_ && scales_ == other_quant.scales_ &&
         zero_points_ == other_quant.zero_points_ && channel_dim_ == other_quant.channel_dim_;
}

Backend::~Backend() = default;
namespace kernel {
Kernel::Kernel(std::vector<TensorView> inputs, std::vector<TensorView> outputs,
               const Primitive* primitive, const Context* context)
    : inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      primitive_(primitive),
      context_(context) {}
Kernel::~Kernel() = default;
Status Kernel::Prepare(const Io&) {
  if (prepared_) return Status();
  prepared_ = true;
  return Prepare();
}
Status Kernel::ReSize() {
  return Status::Error(Code::kUnsupported, "the kernel runs for fixed shapes alone");
}
std::string Kernel::type() const { return primitive_ != nullptr ? primitive_->kind : "subgraph"; }
Status Kernel::Profile(std::vector<Timing>* timings) {
  const auto start = std::chrono::steady_clock::now();
  TIMCL_TRY(Execute());
  TIMCL_TRY(Wait());
  Timing whole;
  whole.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  timings->push_back(std::move(whole));
  return Status();
}
Memory::~Memory() = default;
}  // namespace kernel

}  // namespace tim::vx

// What a user's kernel function declares, and whether an op's arguments fit it.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_SIGNATURE_H_
#define TIMCL_BACKENDS_OPENCL_RUN_SIGNATURE_H_

#include <CL/opencl.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/opencl/run/plan.h"
#include "tim/vx/result.h"

namespace tim::vx::opencl {

/// How a kernel's parameter is declared.
enum class ParameterKind : uint8_t {
  kBuffer,  // a pointer to __global or __constant memory
  kImage2d,
  kImage2dArray,
  kLocal,
  kValue,
  kOther,  // what no argument can be: other images, samplers
};
inline constexpr uint8_t kParameterKinds = 6;

struct Parameter {
  ParameterKind kind = ParameterKind::kBuffer;
  std::string type;  // of a value or what is pointed to: "float4"; as the source says where the
                     // driver does not tell
  std::string name;
  bool IsImage() const {
    return kind == ParameterKind::kImage2d || kind == ParameterKind::kImage2dArray;
  }
  /// "__global float* x".
  std::string ToString() const;
  bool operator==(const Parameter& o) const {
    return kind == o.kind && type == o.type && name == o.name;
  }
};
using Signature = std::vector<Parameter>;

/// Bytes of a type of OpenCL C by its name ("uchar", "unsigned int", "float3"); 0 for names that
/// are not built in.
size_t SizeOfClType(const std::string& name);

/// The signature of a kernel in a program of which images are emulated: as the driver tells it, or,
/// where it does not, as `source` says. kUnsupported when neither does.
Result<Signature> ReadSignature(const cl::Kernel& kernel, const std::string& function,
                                const std::string& source);
/// The second half of it: the parameter list of `function` as it stands in the source, without
/// macros but those of the image prelude. nullopt when it is not understood.
std::optional<Signature> ParseSignature(const std::string& source, const std::string& function);

/// "" when the arguments fit in number, kind and size; else one line and a table of both lists.
std::string CompareSignature(const std::string& function, const std::vector<Arg>& passed,
                             const Signature& declared);
/// What is legal and hardly meant: scalars that are taken for another type of the same size, and
/// pointers to larger elements than the tensor has.
std::vector<std::string> DoubtsOf(const std::vector<Arg>& passed, const Signature& declared);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_SIGNATURE_H_

// Turns a KernelSpec and the types of its operands into the text of one kernel variant and the list
// of its arguments.
#ifndef TIMCL_KERNELS_PRELUDE_H_
#define TIMCL_KERNELS_PRELUDE_H_

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tim/vx/kernel_sources.h"
#include "tim/vx/kernel_spec.h"
#include "tim/vx/op_def.h"
#include "tim/vx/result.h"

namespace tim::vx::kernels {

/// The integers that a quantized 8-bit result may become, where they are fewer than its type has:
/// what a fused op that only limits values (a Relu between equal encodings) leaves.
struct Range {
  int32_t lowest, highest;
};

/// One point-wise op fused behind a kernel: the value passes through `before` (the type of the
/// tensor that fusion removed), then through the expression.
struct PostOp {
  TensorType before;
  std::optional<Range> range;  // of `before`, for KernelSpec::Epilogue::kLanes alone
  std::string expression;      // of x, y and p0..p3
  float params[4] = {0, 0, 0, 0};
  /// The other operand of an op with two: a tensor of the same shape, read at the element's own
  /// index. The value is x and the other tensor y; or the other way round.
  std::optional<TensorType> other;
  std::optional<float> constant;  // in its place: the same number for all elements
  bool other_first = false;
};
/// Whether a post-op behind a kernel with this form of epilogue can read such a tensor.
bool CanRead(const TensorType& other, KernelSpec::Epilogue epilogue);

/// A scalar that follows a tensor parameter.
struct ScalarArg {
  bool is_float = true;
  float f = 0;
  int32_t i = 0;
};

/// How output 0 is stored, besides its type.
struct FinalStore {
  /// Of all outputs. An i8 tensor in blocks is stored as value + 128, but results are rounded in
  /// its own encoding: adding a larger zero point in float would round differently.
  TensorForm form = TensorForm::kPlain;
  std::optional<Range> range;  // for KernelSpec::Epilogue::kLanes alone
  /// Output 0 may lie where another tensor of a post-op does, or (inputs too) where an input does:
  /// such pointers are not restrict.
  bool shares = false, inputs_share = false;
};

struct VariantText {
  /// Self-contained but for tensor.clh and FN: the same for equal code, whatever the shapes, scales
  /// and attribute values.
  std::string text;
  std::string entry;
  std::string origin;  // source file, for messages
  /// By operand: the scalars behind it. Between output 0 and its scalars come the other tensors of
  /// the post-ops, in their order; between input 0 and its own those of the pre-ops.
  std::vector<std::vector<ScalarArg>> operand_args;
};

/// The text of a source by name: one of `own`, else a built-in one; TIMCL_KERNEL_DIR
/// (`override_dir`) replaces both. kNotFound lists what there is.
Result<std::string> FindSource(const std::string& name, const std::string& override_dir,
                               const KernelSources* own = nullptr);

/// The kernel sources of one compilation: each is read, and its includes are put in their places,
/// once.
class Sources {
 public:
  explicit Sources(std::string override_dir) : override_dir_(std::move(override_dir)) {}
  struct Expanded {
    std::string text;
    std::string undefs;  // of the names that the text defines
  };
  /// Sources include each other by `#include "name.clh"`, each once; kNotFound and kKernelBuild
  /// name file and line of one that is unknown or includes itself. `own`: the files of the
  /// library that brings the kernel.
  Result<const Expanded*> Of(const KernelSpec& spec, const KernelSources* own = nullptr);
  const std::string& override_dir() const { return override_dir_; }

 private:
  std::string override_dir_;
  // By whose it is, its name, and a text of its own.
  std::map<std::tuple<const KernelSources*, std::string, std::string>, Expanded> known_;
};

/// `ins[i]`: types of the op's operands as they lie in memory (InForm). `outs[i]`, the types in
/// `post_ops` and `final_type`: as users know them, but for PostOp::other, which is read from
/// memory. `pre_ops`: of float32, fused into what LOAD and VLOAD of input 0 give; the first one's
/// input lies in memory then. `post_ops`: fused behind output 0, which is stored as `final_type`.
/// kUnsupported when an operand's type cannot be read or written by kernels; else as Sources::Of.
Result<VariantText> MakeVariant(const KernelSpec& spec, const std::vector<TensorType>& ins,
                                const std::vector<TensorType>& outs,
                                const std::vector<PostOp>& post_ops, const TensorType& final_type,
                                Sources* sources, const KernelSources* own = nullptr,
                                const FinalStore& store = {},
                                const std::vector<PostOp>& pre_ops = {});

/// What stands between the image prelude and a user's source that uses the macros of tensor.clh and
/// image_tensor.clh; and the scalars behind each tensor parameter.
struct UserMacros {
  std::string text;
  std::vector<std::vector<ScalarArg>> input_args, output_args;
};
/// For the names of spec.input_names and spec.output_names, which are those of `ins` and `outs`.
/// LOAD and STORE work in float, whatever the types. kUnsupported for types that the macros do not
/// know: per-channel quantization.
Result<UserMacros> MakeUserMacros(const KernelSpec& spec, const std::vector<TensorType>& ins,
                                  const std::vector<TensorType>& outs,
                                  const std::string& override_dir);

/// One program of several variants: tensor.clh, then `between`, then each variant, its function
/// renamed to entry_v<index>.
std::string AssembleProgram(const std::vector<const VariantText*>& variants,
                            const std::string& override_dir, const std::string& between = "");
/// The kernel function of variant `index` in an assembled program.
std::string EntryName(const VariantText& variant, size_t index);

}  // namespace tim::vx::kernels
#endif  // TIMCL_KERNELS_PRELUDE_H_

// GraphImpl: what the user builds; turns it into IR at Compile() and runs the result.
#ifndef TIMCL_API_GRAPH_H_
#define TIMCL_API_GRAPH_H_

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/context.h"
#include "api/tensor.h"
#include "ir/graph.h"
#include "runtime/executable.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/graph.h"
#include "tim/vx/operation.h"
#include "tim/vx/profile.h"

namespace tim::vx {

class GraphImpl : public Graph {
 public:
  GraphImpl(std::shared_ptr<ContextImpl> context, const CompileOption& options);
  ~GraphImpl() override;

  void SetCompileOption(const CompileOption& options) override;
  std::shared_ptr<Tensor> CreateTensor(const TensorSpec& spec, const void* data = nullptr) override;
  std::shared_ptr<Tensor> CreateTensor(const TensorSpec& spec, const DmaBufferDesc& dmafd) override;
  std::shared_ptr<Tensor> CreateIOTensor(const TensorSpec& spec, void* data = nullptr) override;
  std::shared_ptr<Tensor> CreateTensorPlaceHolder() override;
  bool Compile() override;
  bool CompileToBinary(void* buf, size_t* size) override;
  bool Run() override;
  const std::vector<std::shared_ptr<Tensor>> InputsTensor() const override { return inputs_; }
  const std::vector<std::shared_ptr<Tensor>> OutputsTensor() const override { return outputs_; }
  void UpdateTensorConsumersMap(const std::shared_ptr<Tensor>& tensor,
                                const Operation* op) override;
  void RenewTensorConsumersMap(const std::shared_ptr<Tensor>& org_tensor,
                               const std::shared_ptr<Tensor>& dst_tensor,
                               const Operation* op) override;
  void UpdateTensorProducerMap(const std::shared_ptr<Tensor>& tensor, const Operation* op) override;
  const std::vector<std::shared_ptr<Operation>> GetConsumersOp(
      std::shared_ptr<Tensor> tensor) const override;
  std::shared_ptr<Operation> GetProducerOp(std::shared_ptr<Tensor> tensor) override;
  void PrintGraph() const override;
  std::vector<std::shared_ptr<Operation>>& OpVector() override { return op_vector_; }
  std::map<std::shared_ptr<Tensor>, std::vector<std::shared_ptr<Operation>>>& TensorConsumer()
      override {
    return consumers_;
  }
  std::map<std::shared_ptr<Tensor>, std::shared_ptr<Operation>>& TensorProducer() override {
    return producers_;
  }
  const Status& LastStatus() const override { return last_; }
  const CompileReport& Report() const override { return report_; }
  GraphProfile Profile(int runs) override;
  bool Resize(const std::vector<ShapeType>& input_shapes) override;
  std::string ToText() const override;
  using Graph::CreateOperation;
  std::shared_ptr<Operation> CreateOperation(const std::string& kind,
                                             const AttrMap& attrs) override;

  // For Operation and Lowering.

  /// Expires with the graph: what operations, which users may keep longer, ask before they touch
  /// it.
  std::weak_ptr<const void> alive() const { return alive_; }
  const OpRegistry& ops() const { return context_->Ops(); }
  /// Counts an operation that is being made; tells when it comes too late.
  uint32_t NextUid(const OpDef* def);
  /// The graph is another one now: a failed Compile may be tried again.
  void Edited();
  /// Keeps the first mistake made while building; Compile() returns it.
  void Mistake(Status status);
  /// An operation of a definition, in the graph.
  std::shared_ptr<Operation> MakeByName(const std::shared_ptr<const OpDef>& def,
                                        const AttrMap& attrs);
  /// Takes in what was made by name.
  std::shared_ptr<Operation> Keep(std::shared_ptr<Operation> op,
                                  std::shared_ptr<const OpDef> registered, AttrMap given);
  /// In its place where that failed: Compile() says why. `registered` null: nobody knows the name.
  std::shared_ptr<Operation> KeepFailed(const std::string& kind, Status why,
                                        std::shared_ptr<const OpDef> registered,
                                        const AttrMap& given);
  static std::string LabelOf(const Operation& op);
  /// "'main' f32[4]", or the type alone for a tensor without name.
  static std::string LabelOf(const TensorImpl& tensor);

  /// A tensor that an op writes.
  struct Written {
    std::shared_ptr<TensorImpl> tensor;
    int value = 0;
    std::string place;  // "Pool2d#1 'pool': output 0", for messages
    /// State that is also read: the memory that a run writes, taken over after the run.
    std::shared_ptr<base::Storage> state;
  };
  struct Lowered {
    std::shared_ptr<ir::Graph> graph;
    std::vector<Written> written;
    std::vector<std::string> warnings;
  };
  using Reshaped = std::map<const TensorImpl*, TensorImpl::Reshaped>;

 private:
  /// The graph as IR (lower.cc).
  /// `reshaped`: inputs that have another shape now; what ops write follows.
  Result<Lowered> Lower(const Reshaped* reshaped = nullptr) const;
  /// kInvalidGraph for a graph without operations or OUTPUT tensors.
  Status CheckNotEmpty() const;
  Status DoCompile();
  /// Graph and report of a compilation; `written` of lowered are not taken over yet.
  Status CompileLowered(const Lowered& lowered, CompileReport* report,
                        std::unique_ptr<runtime::Executable>* executable,
                        std::shared_ptr<compiler::Kept>* kept);
  CompileReport EmptyReport() const;
  /// What Run needs to know of the tensors.
  struct Settled {
    std::vector<Written> commits;                         // state
    std::vector<std::shared_ptr<TensorImpl>> run_memory;  // what the user may take away
    std::vector<std::shared_ptr<TensorImpl>> delivered;   // what ops write
  };
  /// In two parts, the second of which allocates nothing: once all is well.
  Settled BeginToSettle(std::vector<Written> written) const;
  void Settle(Settled settled);
  Status DoResize(const std::vector<ShapeType>& shapes);
  Result<Reshaped> ReshapeInputs(const std::vector<ShapeType>& shapes) const;
  /// What inference found out about a tensor that an op writes, after a compilation.
  Status TakeOver(const Written& written, const ir::Value& value);
  /// `timings`: by step, where each piece of work is timed.
  Status DoRun(std::vector<std::vector<kernel::Timing>>* timings = nullptr);
  Status DoProfile(int runs, GraphProfile* profile);
  /// One run, launch by launch, into the timeline.
  Status RunTraced();
  /// Into the report and the log.
  void Warn(std::string text);
  /// Remembers why a call returns false, and logs it: callers of the original API see no more
  /// than that.
  bool Fail(const char* call, Status why);
  /// The operation as op_vector_ owns it; null for one that is not there (yet).
  std::shared_ptr<Operation> Owned(const Operation* op);
  /// "graph input 0 'x' f32[4]".
  std::string PlaceOf(const TensorImpl& tensor) const;
  std::shared_ptr<Tensor> NewTensor(const TensorSpec& spec, const void* data, void* user_memory);
  /// A tensor without id, which remembers why; the first such mistake is the graph's.
  std::shared_ptr<Tensor> FailedTensor(const TensorSpec& spec, const Status& why);

  std::shared_ptr<ContextImpl> context_;
  CompileOption options_;
  std::vector<std::shared_ptr<Tensor>> inputs_, outputs_;
  std::map<std::shared_ptr<Tensor>, std::vector<std::shared_ptr<Operation>>> consumers_;
  std::map<std::shared_ptr<Tensor>, std::shared_ptr<Operation>> producers_;
  std::shared_ptr<const void> token_;  // what tensors know their graph by; outlives it with them
  std::shared_ptr<const void> alive_;  // nobody else owns it
  std::shared_ptr<Tensor> placeholder_;
  uint32_t uids_ = 0, tensor_ids_ = 0;
  std::unordered_map<const Operation*, size_t> op_index_;  // into op_vector_, as it was
  size_t ops_indexed_ = 0;
  uint64_t edits_ = 0, compiled_edits_ = 0;
  enum class State { kBuilding, kCompiled, kFailed } state_ = State::kBuilding;
  Status mistake_, last_, compile_status_;
  bool mistake_reported_ = false, told_of_late_ops_ = false;
  CompileReport report_;
  std::unique_ptr<runtime::Executable> executable_;
  std::shared_ptr<compiler::Kept> kept_;  // what Resize goes on from
  Settled settled_;
};

}  // namespace tim::vx
#endif  // TIMCL_API_GRAPH_H_

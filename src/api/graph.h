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
  std::string ToText() const override;

  // For Operation and TensorImpl.
  uint32_t NextUid() { return ++uids_; }
  /// The graph is another one now: a failed Compile may be tried again.
  void Edited();
  /// Keeps the first mistake made while building; Compile() returns it.
  void Mistake(Status status);
  std::string LabelOf(const Operation& op) const;
  std::string LabelOf(const TensorImpl& tensor) const;
  const std::shared_ptr<ContextImpl>& context() const { return context_; }

 private:
  /// Memory that a run writes for a tensor that it also reads as state; taken over after the run.
  struct StateCommit {
    std::shared_ptr<TensorImpl> tensor;
    std::shared_ptr<base::Storage> written;
  };
  /// The graph as IR. The lists may be null when only looking. `outputs`: tensors that ops write,
  /// with their value ids.
  Result<std::unique_ptr<ir::Graph>> Lower(
      std::vector<StateCommit>* commits, std::vector<std::string>* warnings,
      std::vector<std::pair<std::shared_ptr<TensorImpl>, int>>* outputs) const;
  Status DoCompile();
  Status DoRun();
  std::shared_ptr<Tensor> NewTensor(const TensorSpec& spec, const void* data, void* user_memory);
  /// A tensor without id, which remembers why; the first such mistake is the graph's.
  std::shared_ptr<Tensor> FailedTensor(const TensorSpec& spec, const Status& why);

  std::shared_ptr<ContextImpl> context_;
  CompileOption options_;
  std::vector<std::shared_ptr<Tensor>> inputs_, outputs_;
  std::map<std::shared_ptr<Tensor>, std::vector<std::shared_ptr<Operation>>> consumers_;
  std::map<std::shared_ptr<Tensor>, std::shared_ptr<Operation>> producers_;
  std::shared_ptr<const void> token_;  // what tensors know their graph by
  std::shared_ptr<Tensor> placeholder_;
  uint32_t uids_ = 0, tensor_ids_ = 0;
  uint64_t edits_ = 0, compiled_edits_ = 0;
  enum class State { kBuilding, kCompiled, kFailed } state_ = State::kBuilding;
  Status mistake_, last_, compile_status_;
  bool mistake_reported_ = false;
  CompileReport report_;
  std::unique_ptr<runtime::Executable> executable_;
  std::vector<StateCommit> commits_;
  std::vector<std::shared_ptr<TensorImpl>> run_memory_;  // what the user may take away
};

}  // namespace tim::vx
#endif  // TIMCL_API_GRAPH_H_

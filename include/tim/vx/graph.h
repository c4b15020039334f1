// Graph: holds tensors and operations; compiles and runs them.
#ifndef TIM_VX_GRAPH_H_
#define TIM_VX_GRAPH_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/status.h"
#include "tim/vx/visibility.h"

namespace tim {
namespace vx {

class Tensor;
struct TensorSpec;
struct DmaBufferDesc;
class Operation;
class CompileOption;
class CompileReport;
class GraphProfile;
class AttrMap;

/// A graph under construction, then ready to run. Made by Context::CreateGraph.
/// Threads: one graph is used by one thread at a time; different graphs, also of one context, may
/// be built, compiled and run in parallel.
/// A call that returns false logs why, once and at level error, to stderr unless TIMCL_LOG says
/// otherwise (off silences); LastStatus() has the same words. Results do not depend on the caller's
/// rounding mode or locale.
class TIMCL_API Graph {
 public:
  virtual ~Graph() {}

  /// Replaces the options that the next Compile() reads.
  virtual void SetCompileOption(const CompileOption&) = 0;

  /// Never null; a tensor that could not be made has GetId() == uint32_t(-1), and Compile() tells
  /// why. `data` is copied at once.
  virtual std::shared_ptr<Tensor> CreateTensor(const TensorSpec& spec,
                                               const void* data = nullptr) = 0;
  /// INPUT or OUTPUT over a dma-buf.
  virtual std::shared_ptr<Tensor> CreateTensor(const TensorSpec& spec,
                                               const DmaBufferDesc& dmafd) = 0;
  /// INPUT or OUTPUT over the caller's memory, which is aligned to 64 bytes and outlives the
  /// tensor (4-bit ones are copied in each Run()). Null: the library allocates.
  virtual std::shared_ptr<Tensor> CreateIOTensor(const TensorSpec& spec, void* data = nullptr) = 0;
  /// Stands for an omitted operand; every call on one graph returns the same object.
  virtual std::shared_ptr<Tensor> CreateTensorPlaceHolder() = 0;

  /// Checks, infers shapes, chooses kernels and builds them. A second call does no work; after a
  /// failure every later one fails alike until the graph is changed. Operations added after a
  /// success are ignored, with a warning. What is legal but can hardly be meant (a CONSTANT without
  /// data, a declared output shape that the operation overrules) is a warning in the log and in
  /// Report().
  virtual bool Compile() = 0;
  /// Null buf: *size receives the number of bytes needed. Else the compiled graph is written, if
  /// *size suffices, and *size receives its true length.
  virtual bool CompileToBinary(void* buf, size_t* size) = 0;
  /// Compile(), if that was not done; then one synchronous execution.
  virtual bool Run() = 0;

  /// Makes an operation of this graph; the parameters are those of its constructor after the graph.
  template <typename OpType, typename... Params>
  std::shared_ptr<OpType> CreateOperation(Params... parameters) {
    std::shared_ptr<OpType> op = std::make_shared<OpType>(this, parameters...);
    op_vector_.push_back(op);
    return op;
  }

  /// INPUT tensors in order of creation.
  virtual const std::vector<std::shared_ptr<Tensor>> InputsTensor() const = 0;
  /// OUTPUT tensors in order of creation.
  virtual const std::vector<std::shared_ptr<Tensor>> OutputsTensor() const = 0;

  /// Adds op to the tensor's consumers; called by BindInput.
  virtual void UpdateTensorConsumersMap(const std::shared_ptr<Tensor>& tensor,
                                        const Operation* op) = 0;
  /// Forgets all consumers of org_tensor and makes op a consumer of dst_tensor.
  virtual void RenewTensorConsumersMap(const std::shared_ptr<Tensor>& org_tensor,
                                       const std::shared_ptr<Tensor>& dst_tensor,
                                       const Operation* op) = 0;
  /// Makes op the tensor's producer; called by BindOutput.
  virtual void UpdateTensorProducerMap(const std::shared_ptr<Tensor>& tensor,
                                       const Operation* op) = 0;

  /// Consumers in order of binding; an op that is bound twice appears twice.
  virtual const std::vector<std::shared_ptr<Operation>> GetConsumersOp(
      std::shared_ptr<Tensor> tensor) const = 0;
  /// Null if there is none.
  virtual std::shared_ptr<Operation> GetProducerOp(std::shared_ptr<Tensor> tensor) = 0;

  /// Logs tensors and operations at level info.
  virtual void PrintGraph() const = 0;

  /// Operation::ConstantInputsTensor() of all operations, one after the other.
  const std::vector<std::shared_ptr<Tensor>> GetConstantInputs() const;

  /// Operations in order of creation.
  virtual std::vector<std::shared_ptr<Operation>>& OpVector() = 0;

  virtual std::map<std::shared_ptr<Tensor>, std::vector<std::shared_ptr<Operation>>>&
  TensorConsumer() = 0;

  virtual std::map<std::shared_ptr<Tensor>, std::shared_ptr<Operation>>& TensorProducer() = 0;

  // Additions to the original API.

  /// Why the last call on this graph returned false; success before any failure.
  virtual const Status& LastStatus() const;
  /// What the last Compile() decided (tim/vx/compile_report.h); empty before it.
  virtual const CompileReport& Report() const;
  /// Where the time of a Run() goes (tim/vx/profile.h): Compile(), if that was not done; one run to
  /// warm up, `runs` whole ones, and `runs` in which each kernel launch is timed by the device's
  /// own clock. Outputs and states are as after so many calls of Run(). No `ops`: it failed, and
  /// LastStatus() tells why.
  virtual GraphProfile Profile(int runs = 10);
  /// The graph in the text form that passes are tested with.
  virtual std::string ToText() const;
  /// Gives the INPUT tensors, as InputsTensor() lists them, other shapes ({}: stays as it is), and
  /// compiles for them: shapes are inferred again, kernels are resized where they can be
  /// (kernel::Kernel::ReSize), the partitions of the others are compiled anew, and memory is
  /// planned again. Contents of INPUT and OUTPUT tensors are lost. False: LastStatus() says why,
  /// and the graph stays as it was. The default body, for mocks, returns false.
  virtual bool Resize(const std::vector<std::vector<uint32_t>>& input_shapes);
  /// Makes an operation of what the graph's context knows by this name (Context::Ops): an operator
  /// that is built in, the app's own or a plugin's. `attrs` (tim/vx/attrs.h) are its attributes;
  /// those left out have their defaults. Never null: what cannot be made fails Compile(), which
  /// tells why. The default body, for mocks, returns null.
  virtual std::shared_ptr<Operation> CreateOperation(const std::string& kind, const AttrMap& attrs);
  std::shared_ptr<Operation> CreateOperation(const std::string& kind);

 protected:
  std::vector<std::shared_ptr<tim::vx::Operation>> op_vector_;
};

}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_GRAPH_H_

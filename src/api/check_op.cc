// CheckOp through the public API, as a user would write it: see check_op.h.
#include "tim/vx/check_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <optional>

#include "api/checking.h"
#include "ref/compare.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/operation.h"
#include "tim/vx/ops/custom_base.h"
#include "tim/vx/testing.h"

namespace tim::vx::testing {
namespace {

constexpr int kRandomCases = 2;

using cases::F32;
using ref::Random;

Bytes Draw(const TensorType& type, double lo, double hi, uint64_t seed) {
  Bytes data(type.bytes());
  ref::Output out(data.data(), type);
  Random random(seed);
  const bool whole = IsInteger(type.dtype) && !type.quantized();
  for (int64_t i = 0; i < out.count(); ++i) {
    const double v = random.Uniform(lo, hi);
    if (type.dtype == DataType::BOOL8) {
      out.SetRaw(i, v > (lo + hi) / 2);
    } else if (whole) {
      out.SetRaw(i, std::llrint(v));
    } else {
      out.Set(i, v);
    }
  }
  return data;
}

/// "" when `got` is within the tolerance of `expected`.
std::string Compare(const TensorType& type, const Bytes& expected, const void* got,
                    const Tolerance& tolerance) {
  const ref::Input want(expected.data(), type), have(got, type);
  double largest = 0;
  if (tolerance.sum && !IsInteger(type.dtype)) {
    for (int64_t i = 0; i < want.count(); ++i) {
      if (std::isfinite(want.At(i))) largest = std::max(largest, std::fabs(want.At(i)));
    }
  }
  for (int64_t i = 0; i < want.count(); ++i) {
    const std::string at = ref::PositionOf(type.shape, i);
    if (IsInteger(type.dtype)) {
      const int64_t a = have.Raw(i), b = want.Raw(i);
      // As unsigned numbers: the difference of two int64 may not fit one.
      const uint64_t apart = a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
                                   : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
      if (apart <= static_cast<uint64_t>(tolerance.steps)) continue;
      return fmt::format("element {}: the kernel gives {}, the reference {} (allowed: {} steps)",
                         at, a, b, tolerance.steps);
    }
    const double a = have.At(i), b = want.At(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double allowed = std::max(
        tolerance.ulp * ref::UnitOf(tolerance, type.dtype, std::max(std::fabs(b), largest)),
        tolerance.absolute);
    if (std::fabs(a - b) <= allowed) continue;  // false for NaN and infinity
    return fmt::format(
        "element {}: the kernel gives {:.9g}, the reference {:.9g} (allowed: {:.3g})", at, a, b,
        allowed);
  }
  return "";
}

/// One operator in a graph of its own.
struct Trial {
  std::shared_ptr<Graph> graph;
  std::vector<std::shared_ptr<Tensor>> inputs, outputs;
  std::string Error() const { return graph->LastStatus().message(); }
};

std::string TypesText(const std::vector<TensorType>& inputs) {
  std::string text;
  for (const TensorType& t : inputs) text += (text.empty() ? "" : " ") + t.ToString();
  return text;
}

class Checker {
 public:
  Checker(const CheckOptions& options, const OpMaker& make) : options_(options), make_(make) {}

  std::string Run() {
    if (std::string why = StartUnderOclgrind(); !why.empty()) return why;
    if (std::string why = sides_.Open(options_.context); !why.empty()) return why;
    CountOperands();
    Random random(options_.seed);
    for (const std::vector<Shape>& shapes : GenerateShapes(random)) {
      std::vector<TensorType> types;
      for (size_t i = 0; i < shapes.size(); ++i) {
        TensorType type = options_.inputs.empty()      ? F32()
                          : i < options_.inputs.size() ? options_.inputs[i]
                                                       : options_.inputs.back();
        type.shape = shapes[i];
        types.push_back(std::move(type));
      }
      const std::string wrong = CheckOne(types, random.Next());
      if (!wrong.empty()) return fmt::format("{}: {}", TypesText(types), wrong);
    }
    return "";
  }

 private:
  void CountOperands() {
    num_inputs_ = options_.inputs.size();
    num_outputs_ = options_.outputs.size();
    const auto graph = sides_.host->CreateGraph();
    std::shared_ptr<Operation> op;
    if (options_.shapes == nullptr) {
      op = make_(*graph, std::vector<Shape>(std::max<size_t>(num_inputs_, 1), Shape{3, 5}));
    }
    const auto* custom = dynamic_cast<const ops::CustomOpBase*>(op.get());
    if (num_inputs_ == 0) num_inputs_ = custom ? custom->input_num_ : 1;
    if (num_outputs_ == 0) num_outputs_ = custom ? custom->output_num_ : 1;
  }

  std::vector<std::vector<Shape>> GenerateShapes(Random& random) const {
    static constexpr int64_t kExtents[] = {1, 2, 3, 5, 7, 9, 15, 16, 17, 31, 33};
    const auto draw = [&] { return kExtents[random.Next() % std::size(kExtents)]; };
    std::vector<std::vector<Shape>> all;
    if (options_.shapes) {
      const int64_t fixed[][4] = {{1, 1, 1, 1}, {3, 5, 7, 2}, {17, 9, 33, 1}, {16, 8, 4, 2}};
      for (const auto& e : fixed) all.push_back(options_.shapes(e[0], e[1], e[2], e[3]));
      for (int i = 0; i < kRandomCases; ++i) {
        const int64_t a = draw(), b = draw(), c = draw();
        all.push_back(options_.shapes(a, b, c, 1 + i));
      }
      return all;
    }
    // Few: PoCL compiles a kernel anew for each size of work-group.
    std::vector<Shape> shapes = {{1}, {1001}, {13, 5}, {5, 3, 7}, {3, 2, 5, 2}, {67, 33}};
    for (int i = 0; i < kRandomCases; ++i) {
      const int64_t a = draw(), b = draw(), c = draw();
      shapes.push_back({a, b, c, 1 + i});
    }
    for (const Shape& shape : shapes) all.emplace_back(num_inputs_, shape);
    return all;
  }

  /// A graph with the operator; `outputs`: their types, or shapes {} that are to be inferred;
  /// `memory`: the caller's, or none.
  Trial Build(Context& context, const std::vector<TensorType>& inputs,
              const std::vector<TensorType>& outputs, const std::vector<Guarded>& memory) const {
    Trial t;
    t.graph = context.CreateGraph();
    std::vector<Shape> shapes;
    for (const TensorType& type : inputs) {
      shapes.push_back(type.shape);
      t.inputs.push_back(t.graph->CreateTensor(SpecOf(type, TensorAttribute::INPUT)));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorSpec spec = SpecOf(outputs[i], TensorAttribute::OUTPUT);
      t.outputs.push_back(memory.empty() ? t.graph->CreateTensor(spec)
                                         : t.graph->CreateIOTensor(spec, memory[i].data()));
    }
    const auto op = make_(*t.graph, shapes);
    if (op != nullptr) op->BindInputs(t.inputs).BindOutputs(t.outputs);
    return t;
  }

  static bool Write(const Trial& t, const std::vector<Bytes>& data) {
    for (size_t i = 0; i < data.size(); ++i) {
      if (!t.inputs[i]->CopyDataToTensor(data[i].data())) return false;
    }
    return true;
  }

  /// Why the kernels did not run, although the graph did.
  static std::string NotOnDevice(const Trial& t) {
    for (const OpPlacement& op : t.graph->Report().ops) {
      if (op.backend == "opencl") continue;
      std::string text = op.op + " does not run on the device:";
      for (const std::string& refusal : op.refusals) text += " " + refusal;
      return text;
    }
    return "";
  }

  std::string CheckOne(const std::vector<TensorType>& inputs, uint64_t seed) {
    std::vector<Bytes> data;
    for (size_t i = 0; i < inputs.size(); ++i)
      data.push_back(Draw(inputs[i], options_.lo, options_.hi, seed + i));
    std::vector<TensorType> outputs = options_.outputs;
    while (outputs.size() < num_outputs_) outputs.push_back(inputs.empty() ? F32() : inputs[0]);
    for (TensorType& t : outputs) t.shape = {};

    const Trial expected = Build(*sides_.host, inputs, outputs, {});
    if (!expected.graph->Compile() || !Write(expected, data) || !expected.graph->Run())
      return "by the reference: " + expected.Error();
    std::vector<Bytes> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::optional<TensorType> inferred = InferredType(*expected.outputs[i]);
      if (!inferred) return "the graph is none of this library";
      outputs[i].shape = inferred->shape;
      results.emplace_back(outputs[i].bytes());
      if (!expected.outputs[i]->CopyDataFromTensor(results[i].data()))
        return "by the reference: " + expected.Error();
    }
    // Over two patterns, so that an element that is never written shows; once in the library's
    // memory and once in ours, where writes beyond the ends show.
    for (const bool ours : {false, true}) {
      const std::byte fill{static_cast<unsigned char>(ours ? 0 : 0xFF)};
      std::vector<Guarded> memory;
      for (size_t i = 0; ours && i < outputs.size(); ++i)
        memory.emplace_back(outputs[i].bytes(), fill);
      const Trial got = Build(*sides_.device, inputs, outputs, memory);
      if (!got.graph->Compile()) return "on the device: " + got.Error();
      if (std::string why = NotOnDevice(got); !why.empty()) return why;
      for (size_t i = 0; !ours && i < outputs.size(); ++i)
        (void)got.outputs[i]->CopyDataToTensor(Bytes(outputs[i].bytes(), fill).data());
      if (!Write(got, data) || !got.graph->Run()) return "on the device: " + got.Error();
      if (std::string found = findings_.Take(); !found.empty()) return found;
      for (size_t i = 0; i < outputs.size(); ++i) {
        Bytes values(outputs[i].bytes());
        if (!got.outputs[i]->CopyDataFromTensor(values.data()))
          return "on the device: " + got.Error();
        const std::string wrong =
            Compare(outputs[i], results[i], values.data(), options_.tolerance);
        if (!wrong.empty()) return fmt::format("output {} {}, {}", i, outputs[i].ToString(), wrong);
        if (ours && !memory[i].Intact()) {
          return fmt::format("output {} {}: the kernel writes outside of it", i,
                             outputs[i].ToString());
        }
      }
    }
    return "";
  }

  const CheckOptions& options_;
  const OpMaker& make_;
  Sides sides_;
  size_t num_inputs_ = 0, num_outputs_ = 0;
  OclgrindFindings findings_;
};

}  // namespace

std::string CheckOp(const CheckOptions& options, const OpMaker& make) {
  try {
    return Checker(options, make).Run();
  } catch (const std::exception& e) {
    return std::string("CheckOp: an exception: ") + e.what();
  } catch (...) {
    return "CheckOp: an exception of unknown type";
  }
}

}  // namespace tim::vx::testing

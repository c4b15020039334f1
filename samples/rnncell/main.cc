// rnncell: a recurrent network of one cell, step by step; its state stays on the device.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "report.h"
#include "simple_rnn.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/rnn_cell.h"

namespace {

namespace vx = tim::vx;

constexpr int kInputs = 2, kUnits = 4;

// Two pairs of units. Each pair turns its state by an angle per step and shrinks it a little, so a
// push on it swings to and fro and dies away. Row u holds what unit u takes from each unit.
std::vector<float> Recurrent() {
  std::vector<float> rows(kUnits * kUnits, 0.0f);
  const double angle[] = {0.35, 0.9}, keep[] = {0.98, 0.93};
  for (int pair = 0; pair < 2; ++pair) {
    const float c = static_cast<float>(keep[pair] * std::cos(angle[pair]));
    const float s = static_cast<float>(keep[pair] * std::sin(angle[pair]));
    const int u = 2 * pair;
    rows[u * kUnits + u] = c;
    rows[u * kUnits + u + 1] = -s;
    rows[(u + 1) * kUnits + u] = s;
    rows[(u + 1) * kUnits + u + 1] = c;
  }
  return rows;
}

/// A graph that does one step. state and next are of one size: after a run they change places.
struct Cell {
  std::shared_ptr<vx::Graph> graph;
  std::shared_ptr<vx::Tensor> input, state, output, next;
};

/// A graph of one operation, made by `create`.
template <class Create>
Cell Build(vx::Context& context, Create create) {
  const auto spec = [](const vx::ShapeType& shape, vx::TensorAttribute attribute) {
    return vx::TensorSpec(vx::DataType::FLOAT32, shape, attribute);
  };
  const std::vector<float> weight = {0.9f, 0, 0, 0, 0, 0.9f, 0, 0};  // input i pushes pair i
  const std::vector<float> bias(kUnits, 0.0f), recurrent = Recurrent();
  Cell cell;
  cell.graph = context.CreateGraph();
  vx::Graph& graph = *cell.graph;
  cell.input = graph.CreateTensor(spec({kInputs, 1}, vx::INPUT));
  cell.state = graph.CreateTensor(spec({kUnits, 1}, vx::INPUT));
  cell.output = graph.CreateTensor(spec({kUnits, 1}, vx::OUTPUT));
  cell.next = graph.CreateTensor(spec({kUnits, 1}, vx::OUTPUT));
  const auto w = graph.CreateTensor(spec({kInputs, kUnits}, vx::CONSTANT), weight.data());
  const auto b = graph.CreateTensor(spec({kUnits}, vx::CONSTANT), bias.data());
  const auto r = graph.CreateTensor(spec({kUnits, kUnits}, vx::CONSTANT), recurrent.data());
  create(graph).BindInputs({cell.input, w, b, cell.state, r}).BindOutputs({cell.output, cell.next});
  return cell;
}

/// The state after each step, kUnits numbers a step; nothing if the graph failed.
std::vector<float> Play(const Cell& cell, const std::vector<float>& inputs) {
  const size_t steps = inputs.size() / kInputs;
  std::vector<float> states(steps * kUnits);
  const std::vector<float> rest(kUnits, 0.0f);
  bool ok = cell.graph->Compile() && cell.state->CopyDataToTensor(rest.data());
  for (size_t t = 0; ok && t < steps; ++t) {
    ok = cell.input->CopyDataToTensor(&inputs[t * kInputs]) && cell.graph->Run() &&
         cell.output->CopyDataFromTensor(&states[t * kUnits]) &&
         cell.state->SwapHandle(cell.next);  // what was written is read by the next step
  }
  if (!ok) {
    std::fprintf(stderr, "%s\n", cell.graph->LastStatus().message().c_str());
    states.clear();
  }
  return states;
}

void Plot(const std::vector<float>& states, const std::vector<float>& inputs) {
  constexpr int kHalf = 30;
  std::printf("  t  input  %-*s0%*s\n", kHalf, "-1", kHalf, "1");
  for (size_t t = 0; t < states.size() / kUnits; ++t) {
    std::string line(2 * kHalf + 1, ' ');
    line[kHalf] = '|';
    for (int u = kUnits - 1; u >= 0; --u) {
      const float value = std::clamp(states[t * kUnits + u], -1.0f, 1.0f);
      line[kHalf + std::lround(value * kHalf)] = static_cast<char>('a' + u);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%3zu  %2g %2g  %s\n", t, inputs[t * kInputs], inputs[t * kInputs + 1],
                line.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A recurrent network of one cell, step by step.");
  const samples::Options options(app);
  size_t steps = 32;
  app.add_option("--steps", steps, "time steps")->check(CLI::Range(1, 100000));
  CLI11_PARSE(app, argc, argv);

  // A push on the first pair of units, later one on the second, at last one against the first.
  std::vector<float> inputs(steps * kInputs, 0.0f);
  const auto push = [&](size_t t, int input, float value) {
    if (t < steps) inputs[t * kInputs + input] = value;
  };
  push(0, 0, 1);
  push(8, 1, 1);
  push(20, 0, -1);

  const auto context = options.CreateContext();
  samples::Report report;
  report.sample = "rnncell";
  report.device = context->DeviceName();

  const Cell cell = Build(*context, [](vx::Graph& graph) -> vx::Operation& {
    return *graph.CreateOperation<samples::SimpleRnn>();
  });
  const std::vector<float> states = Play(cell, inputs);
  if (states.empty()) return 1;
  samples::AddPlan(*cell.graph, &report);

  // The library has such a cell too, with a reference of its own.
  vx::ContextOptions host;
  host.host_only = true;
  const Cell built_in = Build(*vx::Context::Create(host), [](vx::Graph& graph) -> vx::Operation& {
    return *graph.CreateOperation<vx::ops::RNNCell>(vx::ops::RNNCell::kTANH);
  });
  const std::vector<float> reference = Play(built_in, inputs);
  if (reference.empty()) return 1;
  for (size_t i = 0; i < states.size(); ++i) {
    report.max_diff = std::max(report.max_diff, std::abs(double{states[i]} - reference[i]));
  }
  report.ok = report.max_diff < 1e-5;

  std::printf("rnncell on %s: state of the units a, b, c, d\n\n", report.device.c_str());
  Plot(states, inputs);
  std::printf("\nlargest difference to the built-in RNNCell in %zu steps: %.3g%s\n", steps,
              report.max_diff, report.ok ? "" : "  TOO MUCH");
  if (!samples::Append(options.report_file, report)) return 1;
  return report.ok ? 0 : 1;
}

// What Compile() tells of itself: see report.h.
#include "compiler/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tim::vx::compiler {
namespace {

/// As the text form of the graph calls a tensor without a name.
std::string BorderText(const TensorView& t) {
  const std::string name =
      t.name().empty() ? fmt::format("%{}", t.id()) : fmt::format("'{}'", t.name());
  return name + " " + t.type().ToString();
}

}  // namespace

Stage::Stage(CompileReport* report, std::string name, const Watch& watch)
    : report_(report), watch_(watch) {
  if (watch.progress) watch.progress({name});
  auto& stages = report->stages;
  const auto it = std::find_if(stages.begin(), stages.end(),
                               [&](const StageReport& s) { return s.stage == name; });
  at_ = static_cast<size_t>(it - stages.begin());
  if (it == stages.end()) stages.push_back({std::move(name)});
}

void Stage::End() {
  if (std::exchange(ended_, true)) return;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start_;
  report_->stages[at_].ms += took.count();
  if (watch_.trace == nullptr) return;
  const double us = took.count() * 1e3;
  watch_.trace->Add({{report_->stages[at_].stage, "compile", base::Trace::Now() - us, us}});
}

void ReportBackends(const std::vector<RankedBackend>& backends, CompileReport* report) {
  report->backends.clear();
  for (const RankedBackend& ranked : backends) {
    const BackendInfo& info = ranked.backend->Info();
    BackendReport b;
    b.name = info.name;
    b.vendor = info.vendor;
    b.version = info.version;
    b.sdk_version = info.sdk_version;
    b.device = info.device;
    b.passed_over = ranked.passed_over;
    report->backends.push_back(std::move(b));
  }
}

void ReportDivision(const ir::Graph& graph, const std::vector<RankedBackend>& backends,
                    const Division& division, const std::vector<GraphView>& views,
                    CompileReport* report) {
  ReportBackends(backends, report);
  const Assignment& a = division.assignment;
  report->ops.clear();
  report->parts.clear();
  report->partitions = division.partitions.size();
  for (size_t p = 0; p < division.partitions.size(); ++p) {
    const Partition& partition = division.partitions[p];
    BackendReport& backend = report->backends[static_cast<size_t>(partition.backend)];
    backend.ops += partition.nodes.size();
    ++backend.partitions;
    PartitionReport part;
    part.backend = backend.name;
    for (int id : partition.nodes) {
      OpPlacement place;
      const OpView op = graph.view(id);
      place.op = op.label();
      place.kind = std::string(op.kind());
      place.backend = backend.name;
      place.reason = a.reason_of[static_cast<size_t>(id)];
      place.refusals = a.refusals_of[static_cast<size_t>(id)];
      place.part_of = graph.PartOf(id);
      place.origin = op.def().origin;
      place.id = id;
      place.partition = static_cast<int>(p);
      part.ops.push_back(report->ops.size());
      report->ops.push_back(std::move(place));
    }
    for (const TensorView& t : views[p].Inputs()) {
      part.inputs.push_back(BorderText(t));
      part.input_bytes += t.type().bytes();
    }
    for (const TensorView& t : views[p].Outputs()) {
      part.outputs.push_back(BorderText(t));
      part.output_bytes += t.type().bytes();
    }
    report->parts.push_back(std::move(part));
  }
}

std::string Draw(const ir::Graph& graph, const std::vector<RankedBackend>& backends,
                 const Division& division, decltype(ir::ToDot)* draw) {
  std::vector<std::string> clusters(graph.nodes().size()), owners(graph.nodes().size());
  for (size_t p = 0; p < division.partitions.size(); ++p) {
    const Partition& partition = division.partitions[p];
    const std::string& name = backends[static_cast<size_t>(partition.backend)].backend->Info().name;
    for (int id : partition.nodes) {
      clusters[static_cast<size_t>(id)] = fmt::format("{} {}", name, p);
      owners[static_cast<size_t>(id)] = name;
    }
  }
  return draw(graph, clusters, owners);
}

}  // namespace tim::vx::compiler

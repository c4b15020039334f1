// Profile(): runs a graph with every piece of work timed; GraphProfile as text.
#include "tim/vx/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "api/graph.h"
#include "api/table.h"

namespace tim::vx {
namespace {

constexpr double kMs = 1e3;  // per second

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// What one op did, over several runs.
struct Row {
  OpTime op;
  std::vector<std::string> kernels;  // each once
  std::vector<double> ms;            // by run
};

/// Adds up the pieces of work of each op.
class Rows {
 public:
  Rows(const runtime::Executable& executable, const CompileReport& report)
      : executable_(executable) {
    for (const OpPlacement& op : report.ops) placed_[op.id] = &op;
  }

  void Add(size_t run, const std::vector<std::vector<kernel::Timing>>& timings) {
    for (size_t step = 0; step < timings.size(); ++step) {
      for (const kernel::Timing& t : timings[step]) Add(run, step, t);
    }
  }

  std::vector<OpTime> Take() {
    std::vector<OpTime> ops;
    for (Row& row : rows_) {
      row.op.median_ms = Median(row.ms);
      row.op.min_ms = *std::min_element(row.ms.begin(), row.ms.end());
      row.op.kernel = fmt::format("{}", fmt::join(row.kernels, ", "));
      ops.push_back(std::move(row.op));
    }
    return ops;
  }

 private:
  void Add(size_t run, size_t step, const kernel::Timing& t) {
    // What belongs to no op stands for itself.
    const auto [it, first] = row_of_.try_emplace(
        std::make_tuple(step, t.op, t.op < 0 ? t.label + '\n' + t.kernel : std::string()),
        rows_.size());
    if (first) rows_.push_back(NewRow(step, t));
    Row& row = rows_[it->second];
    row.ms.resize(run + 1);
    row.ms[run] += t.seconds * kMs;
    if (run != 0) return;  // the same in every run
    ++row.op.launches;
    row.op.flops += t.flops;
    row.op.bytes += t.bytes;
    if (std::find(row.kernels.begin(), row.kernels.end(), t.kernel) == row.kernels.end())
      row.kernels.push_back(t.kernel);
  }

  Row NewRow(size_t step, const kernel::Timing& t) const {
    Row row;
    row.op.op = t.label.empty() ? executable_.step(step).label : t.label;
    row.op.backend = executable_.step(step).backend->Info().name;
    if (const auto it = placed_.find(t.op); it != placed_.end()) {
      if (t.label.empty()) row.op.op = it->second->op;
      row.op.kind = it->second->kind;
      row.op.part_of = it->second->part_of;
    }
    return row;
  }

  const runtime::Executable& executable_;
  std::map<int, const OpPlacement*> placed_;
  std::map<std::tuple<size_t, int, std::string>, size_t> row_of_;  // step, op, work
  std::vector<Row> rows_;
};

std::string PerSecond(double amount, double ms) {
  return amount > 0 && ms > 0 ? fmt::format("{:.2f}", amount / ms * kMs / 1e9) : "";
}

}  // namespace

Status GraphImpl::DoProfile(int runs, GraphProfile* profile) {
  constexpr int kMost = 1'000'000;  // every run is remembered
  if (runs < 1 || runs > kMost) {
    return Status::Error(Code::kInvalidArgument,
                         fmt::format("Profile over {} runs; there can be 1 to {}", runs, kMost));
  }
  TIMCL_TRY(DoRun());
  std::vector<double> whole;
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    TIMCL_TRY(DoRun());
    whole.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * kMs);
  }
  Rows rows(*executable_, report_);
  for (int run = 0; run < runs; ++run) {
    std::vector<std::vector<kernel::Timing>> timings;
    TIMCL_TRY(DoRun(&timings));
    rows.Add(static_cast<size_t>(run), timings);
  }
  profile->ops = rows.Take();
  profile->runs = runs;
  profile->run_ms = Median(std::move(whole));
  return Status();
}

double GraphProfile::TotalMs(const std::string& part_of) const {
  double ms = 0;
  for (const OpTime& op : ops) {
    const bool inside = part_of.empty() || op.part_of == part_of ||
                        op.part_of.compare(0, part_of.size() + 3, part_of + " / ") == 0;
    if (inside) ms += op.median_ms;
  }
  return ms;
}

std::string GraphProfile::ToText() const {
  const double total = TotalMs();
  const auto share = [&](double ms) {
    return fmt::format("{:.1f} %", total > 0 ? ms / total * 100 : 0);
  };
  Table table({"op", "kernel", "backend", "launches", "ms", "share", "GFLOP/s", "GB/s"},
              {3, 4, 5, 6, 7});
  WalkParts(
      ops,
      [&](const std::string& parent) {
        const double ms = TotalMs(parent);
        table.Add({parent, "expanded", "", "", fmt::format("{:.4f}", ms), share(ms), "", ""});
      },
      [&](const OpTime& op, const char* indent) {
        table.Add({indent + op.op, op.kernel, op.backend, std::to_string(op.launches),
                   fmt::format("{:.4f}", op.median_ms), share(op.median_ms),
                   PerSecond(op.flops, op.median_ms),
                   PerSecond(static_cast<double>(op.bytes), op.median_ms)});
      });
  return table.ToText() +
         fmt::format("{} of {}; together {:.4f} ms, a whole run {:.4f} ms (medians)\n",
                     Count(static_cast<uint64_t>(runs), "run"), Count(ops.size(), "operation"),
                     total, run_ms);
}

}  // namespace tim::vx

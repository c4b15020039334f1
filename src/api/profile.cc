// Profile(): runs a graph with every piece of work timed; GraphProfile as text.
#include "tim/vx/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "api/graph.h"
#include "api/profile.h"
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
  std::vector<std::string> kernels, tiles;  // each once
  std::vector<double> ms;                   // by run
};

std::map<int, const OpPlacement*> PlacedBy(const CompileReport& report) {
  std::map<int, const OpPlacement*> placed;
  for (const OpPlacement& op : report.ops) placed[op.id] = &op;
  return placed;
}

std::string PerSecond(double amount, double ms) {
  return amount > 0 && ms > 0 ? fmt::format("{:.2f}", amount / ms * kMs / 1e9) : "";
}

/// What the devices do at most, by backend. Some measure that when they are first asked.
std::vector<std::string> LimitsOf(const runtime::Executable& executable) {
  std::vector<std::string> all;
  std::set<Backend*> asked;
  for (size_t s = 0; s < executable.steps(); ++s) {
    Backend* const backend = executable.step(s).backend.get();
    if (!asked.insert(backend).second) continue;
    const std::string limits = backend->Limits();
    if (!limits.empty()) all.push_back(fmt::format("{}: {}", backend->Info().name, limits));
  }
  return all;
}

std::string Share(double least, double took) {
  return least > 0 && took > 0 ? fmt::format("{:.0f} %", least / took * 100) : "";
}

/// Adds up the pieces of work of each op.
class Rows {
 public:
  Rows(const runtime::Executable& executable, const CompileReport& report)
      : executable_(executable) {
    placed_ = PlacedBy(report);
  }

  void Add(size_t run, const Timings& timings) {
    for (size_t step = 0; step < timings.size(); ++step) {
      for (const kernel::Timing& t : timings[step]) Add(run, step, t);
    }
  }

  /// Those of a device, in one run; no copies.
  size_t launches() const { return launches_; }

  std::vector<OpTime> Take() {
    std::vector<OpTime> ops;
    for (Row& row : rows_) {
      row.op.median_ms = Median(row.ms);
      row.op.min_ms = *std::min_element(row.ms.begin(), row.ms.end());
      row.op.kernel = fmt::format("{}", fmt::join(row.kernels, ", "));
      row.op.tile = fmt::format("{}", fmt::join(row.tiles, ", "));
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
    launches_ += t.op >= 0 && t.start >= 0;
    row.op.flops += t.flops;
    row.op.bytes += t.bytes;
    row.op.least_ms += t.least_seconds * kMs;
    const auto note = [](std::vector<std::string>* list, const std::string& text) {
      if (!text.empty() && std::find(list->begin(), list->end(), text) == list->end())
        list->push_back(text);
    };
    note(&row.kernels, t.kernel);
    note(&row.tiles, t.tile);
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
  size_t launches_ = 0;
};

}  // namespace

TimedRun RunOf(runtime::Executable* executable) {
  return [executable](Timings* timings) {
    return timings == nullptr ? executable->Run() : executable->Profile(timings);
  };
}

Status TraceRun(runtime::Executable* executable, const CompileReport& report, base::Trace* trace) {
  std::vector<base::TraceEvent> events;
  const std::map<int, const OpPlacement*> placed = PlacedBy(report);
  // Before the run, whose first launch would wait for it otherwise.
  constexpr double kMeasuredUs = 1e3;  // else they were known
  const double asked = base::Trace::Now();
  (void)LimitsOf(*executable);
  const double start = base::Trace::Now();
  if (start - asked > kMeasuredUs)
    events.push_back({"measure the devices' limits", "run", asked, start - asked});
  for (size_t s = 0; s < executable->steps(); ++s) {
    const double step_start = base::Trace::Now();
    std::vector<kernel::Timing> timings;
    TIMCL_TRY(executable->ProfileStep(s, &timings));
    const std::string& backend = executable->step(s).backend->Info().name;
    double next = step_start;
    for (const kernel::Timing& t : timings) {
      const auto op = placed.find(t.op);
      base::TraceEvent e;
      e.name = !t.label.empty()     ? t.label
               : op != placed.end() ? op->second->op
                                    : executable->step(s).label;
      e.category = backend;
      e.track = "backend " + backend;
      e.start_us = t.start >= 0 ? step_start + t.start * 1e6 : next;
      e.duration_us = t.seconds * 1e6;
      e.details = {{"kernel", t.kernel}, {"tile", t.tile}};
      if (t.flops > 0) e.details.emplace_back("GFLOP/s", PerSecond(t.flops, t.seconds * kMs));
      if (t.bytes > 0) {
        e.details.emplace_back("GB/s", PerSecond(static_cast<double>(t.bytes), t.seconds * kMs));
      }
      if (t.least_seconds > 0)
        e.details.emplace_back("roofline", Share(t.least_seconds, t.seconds));
      next = e.start_us + e.duration_us;
      events.push_back(std::move(e));
    }
  }
  events.push_back({"Run", "run", start, base::Trace::Now() - start});
  trace->Add(events);
  return Status();
}

Status ProfileRuns(runtime::Executable* executable, const CompileReport& report,
                   const TimedRun& run, int runs, GraphProfile* profile) {
  constexpr int kMost = 1'000'000;  // every run is remembered
  if (runs < 1 || runs > kMost) {
    return Status::Error(Code::kInvalidArgument,
                         fmt::format("Profile over {} runs; there can be 1 to {}", runs, kMost));
  }
  TIMCL_TRY(run(nullptr));
  std::vector<double> whole;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    TIMCL_TRY(run(nullptr));
    whole.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * kMs);
  }
  Rows rows(*executable, report);
  for (int i = 0; i < runs; ++i) {
    Timings timings;
    TIMCL_TRY(run(&timings));
    rows.Add(static_cast<size_t>(i), timings);
  }
  profile->ops = rows.Take();
  profile->runs = runs;
  profile->limits = LimitsOf(*executable);
  profile->timed_launches = rows.launches();
  profile->run_launches = report.launches;
  profile->run_ms = Median(std::move(whole));
  return Status();
}

Status GraphImpl::RunTraced() {
  return TraceRun(executable_.get(), report_, context_->trace().get());
}

Status GraphImpl::DoProfile(int runs, GraphProfile* profile) {
  return ProfileRuns(
      executable_.get(), report_, [this](Timings* timings) { return DoRun(timings); }, runs,
      profile);
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
  Table table(
      {"op", "kernel", "tile", "backend", "launches", "ms", "share", "GFLOP/s", "GB/s", "roofline"},
      {4, 5, 6, 7, 8, 9});
  WalkParts(
      ops,
      [&](const std::string& parent) {
        const double ms = TotalMs(parent);
        table.Add(
            {parent, "expanded", "", "", "", fmt::format("{:.4f}", ms), share(ms), "", "", ""});
      },
      [&](const OpTime& op, const char* indent) {
        table.Add({indent + op.op, op.kernel, op.tile, op.backend, std::to_string(op.launches),
                   fmt::format("{:.4f}", op.median_ms), share(op.median_ms),
                   PerSecond(op.flops, op.median_ms),
                   PerSecond(static_cast<double>(op.bytes), op.median_ms),
                   Share(op.least_ms, op.median_ms)});
      });
  std::string text = table.ToText() +
                     fmt::format("{} of {}; together {:.4f} ms, a whole run {:.4f} ms (medians)\n",
                                 Count(static_cast<uint64_t>(runs), "run"),
                                 Count(ops.size(), "operation"), total, run_ms);
  if (run_launches > 0 && timed_launches > run_launches) {
    text += fmt::format("each launch is made and timed on its own: {} here, {} in a whole run\n",
                        timed_launches, run_launches);
  }
  for (const std::string& limit : limits) text += "limits of " + limit + "\n";
  return text;
}

std::string GraphProfile::ToJson() const {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const OpTime& op : ops) {
    all.push_back({{"op", op.op},
                   {"kind", op.kind},
                   {"backend", op.backend},
                   {"kernel", op.kernel},
                   {"tile", op.tile},
                   {"part_of", op.part_of},
                   {"launches", op.launches},
                   {"median_ms", op.median_ms},
                   {"min_ms", op.min_ms},
                   {"least_ms", op.least_ms},
                   {"flops", op.flops},
                   {"bytes", op.bytes}});
  }
  const Json json = {{"ops", all},
                     {"runs", runs},
                     {"run_ms", run_ms},
                     {"limits", limits},
                     {"timed_launches", timed_launches},
                     {"run_launches", run_launches}};
  // Names come from callers, and JSON is UTF-8: what is not is replaced.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tim::vx

// Every operator: its cases on the OpenCL device against the reference. One GoogleTest per
// operator.
#include "support/conformance.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "backends/opencl/run/device.h"
#include "support/coverage.h"
#include "support/runnable.h"
#include "tim/vx/tensor_form.h"

namespace tim::vx {
namespace conformance {
namespace {

struct Flags {
  std::string which;  // --case
  std::vector<std::string> ops;
  uint64_t seed = 42;
  size_t chunk = 400;
  double limit = 0;      // --limit
  std::string coverage;  // --coverage
  bool as_gpu = false, as_cpu = false, quick = false, fail_fast = false, float_first = false,
       list = false, sources = false, in_caller = false, as_avx2 = false;
  std::string form;  // --form
};
Flags flags;

/// How all steps of a graph become one kernel.
struct Form {
  const char* name;
  bool in_caller;
  Switches switches;
  const char* note;  // what the backend says of such a graph
};
const Form kForms[] = {
    {"joined", false, {{"workers", "all"}}, "launches in one kernel"},
    {"helped", true, {{"helpers", "on"}}, " on the main device"},
    {"resident", false, {{"resident", "on"}}, "resident on the main device"},
};
/// That of --form, or null.
const Form* AskedForm() {
  const auto it = std::find_if(std::begin(kForms), std::end(kForms),
                               [](const Form& form) { return form.name == flags.form; });
  return it != std::end(kForms) ? it : nullptr;
}

/// One for all tests. Main lets go of it: when static objects are destroyed, drivers may be gone.
Result<std::shared_ptr<Backend>>& Device() {
  static auto* const device = new Result<std::shared_ptr<Backend>>(
      OpenDevice(flags.as_gpu, flags.as_cpu, flags.in_caller, flags.as_avx2));
  return *device;
}

/// "" where the library joins the steps of graphs for several workers, by what the device is.
std::string WhyNoForm() {
  const auto env = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  const auto choice = opencl::ChooseDevice(env("TIMCL_DEVICE"), env("OCL_ICD_VENDORS"));
  if (!choice.ok()) return choice.status().message();
  const DeviceCaps& caps = choice->chosen().caps;
  if (caps.compute_units < 2) return "the device has one core";
  return caps.register_tiles_pay && caps.shared_memory ? "" : "register tiles do not pay here";
}

/// The cases that this run is about. Quick: one per encoding, without the large ones of the
/// benchmarks.
std::vector<NamedCase> Wanted(const OpDef& def) {
  std::vector<NamedCase> some;
  std::map<std::string, int> seen;
  for (NamedCase& named : CasesOf(def)) {
    if (!flags.which.empty()) {
      if (Matches(named, flags.which)) some.push_back(std::move(named));
      continue;
    }
    // The reference is a scalar program: cases of the benchmarks run where it ends soon.
    double elements = 0;
    for (const CaseTensor& t : named.c.inputs) elements += static_cast<double>(t.type.count());
    if (named.c.bench && (flags.quick || elements > 3e5)) continue;
    if (flags.limit > 0 && elements > flags.limit) continue;
    if (flags.quick) {
      std::string types;
      for (const CaseTensor& t : named.c.inputs) types += TypeText(t.type) + " ";
      for (const TensorType& t : named.c.outputs) types += TypeText(t);
      if (++seen[types] > 1) continue;
    }
    some.push_back(std::move(named));
  }
  if (flags.float_first) {
    std::stable_partition(some.begin(), some.end(), [](const NamedCase& named) {
      auto is_float = [](const TensorType& t) {
        return t.dtype == DataType::FLOAT32 || t.dtype == DataType::UNKNOWN;
      };
      return std::all_of(named.c.inputs.begin(), named.c.inputs.end(),
                         [&](const CaseTensor& t) { return is_float(t.type); }) &&
             std::all_of(named.c.outputs.begin(), named.c.outputs.end(), is_float);
    });
  }
  return some;
}

bool CanLie(const OpView& op, const KernelCandidate& candidate) {
  const auto can = [](const TensorView& t, TensorForm form) {
    return !t.present() || t.is_const() || CanTake(t.type(), form);
  };
  for (size_t i = 0; i < op.num_inputs(); ++i)
    if (!can(op.in(i), candidate.in)) return false;
  for (size_t i = 0; i < op.num_outputs(); ++i)
    if (!can(op.out(i), candidate.out)) return false;
  return true;
}

/// The kernel files that the op's candidates use for its cases, whatever the device.
std::set<std::string> SourcesOf(const OpDef& def) {
  std::set<std::string> sources;
  DeviceCaps cpu;
  cpu.is_cpu = cpu.register_tiles_pay = cpu.dot_product_bf16 = true;
  for (const NamedCase& named : CasesOf(def)) {
    if (named.c.bench) continue;
    TestGraph graph;
    const int node = AddCaseOverZeros(named, &graph);
    if (node < 0) continue;
    for (const KernelCandidate& candidate : def.kernels) {
      for (const DeviceCaps& caps : {cpu, DeviceCaps()}) {
        const OpView op = graph.graph().view(node);
        const KernelRequest request{caps, candidate.in, candidate.out};
        if (!CanLie(op, candidate)) continue;
        if (candidate.accepts != nullptr && !candidate.accepts(op, request).ok()) continue;
        const auto launches = candidate.make(op, request);
        if (!launches.ok()) continue;
        for (const KernelSpec& spec : *launches) sources.insert(spec.source);
      }
    }
  }
  return sources;
}

class OpConformance : public testing::Test {
 public:
  explicit OpConformance(const OpDef& def) : def_(def) {}

  void TestBody() override {
    const auto& device = Device();
    ASSERT_TRUE(device.ok()) << device.status().message();
    const Form* const form = AskedForm();
    if (form != nullptr) {
      if (const std::string why = WhyNoForm(); !why.empty()) GTEST_SKIP() << why;
    }
    const std::vector<NamedCase> cases = Wanted(def_);
    if (!flags.which.empty() && cases.empty()) GTEST_SKIP() << "no case of that name";
    if (flags.limit > 0 && cases.empty()) GTEST_SKIP() << "no case within --limit";
    // An op without a case would never be tested, and nobody would notice.
    ASSERT_FALSE(cases.empty()) << def_.name << " has no cases";
    RunOptions options;
    options.device = *device;
    options.registry = &Registry();
    options.seed = flags.seed;
    options.stop_early = flags.fail_fast;
    options.chunk = flags.chunk;
    if (form != nullptr) options.switches = form->switches;
    const std::vector<Outcome> outcomes = RunCases(cases, options);
    if (!flags.coverage.empty()) WriteDown(outcomes);
    EXPECT_FALSE(outcomes.empty());
    if (form != nullptr) ExpectForm(*form, outcomes);
    size_t failed = 0;
    for (const Outcome& o : outcomes) {
      if (o.passed) continue;
      if (++failed <= 12) ADD_FAILURE() << o.message;
    }
    if (failed > 12) ADD_FAILURE() << "and " << failed - 12 << " more";
    RecordProperty("runs", static_cast<int>(outcomes.size()));
  }

 private:
  /// Most graphs were what this run is about. Others have one launch, or too many kernels.
  void ExpectForm(const Form& form, const std::vector<Outcome>& outcomes) const {
    size_t such = 0;
    std::set<std::string> others;
    for (const Outcome& o : outcomes) {
      if (o.note.find(form.note) != std::string::npos) {
        ++such;
      } else {
        others.insert(o.note);
      }
    }
    std::cout << such << " of " << outcomes.size() << " are " << form.name << "\n";
    for (const std::string& note : others) {
      std::cout << "  not: '" << note << "'\n";
      EXPECT_EQ(note.find("the joined kernel does not build"), std::string::npos) << note;
    }
    EXPECT_GE(4 * such, 3 * outcomes.size())
        << def_.name << ": a smaller --chunk has fewer kernels";
  }
  void WriteDown(const std::vector<Outcome>& outcomes) const {
    std::vector<coverage::CaseRun> runs;
    for (const Outcome& o : outcomes) {
      runs.push_back({o.op, o.text, o.candidate, o.types, o.passed});
    }
    std::string test(def_.name);
    if (flags.quick) test += ".quick";
    if (flags.as_gpu) test += ".as_gpu";
    if (flags.as_cpu) test += ".as_cpu";
    if (flags.in_caller) test += ".in_caller";
    if (flags.as_avx2) test += ".as_avx2";
    if (flags.limit > 0) test += ".limit";
    if (!flags.form.empty()) test += "." + flags.form;
    coverage::Write(flags.coverage, "conformance", test, runs);
  }

  const OpDef& def_;
};

/// Where coverage is noted unless told otherwise; nowhere for a run of one case or of changed
/// kernels.
std::string DefaultCoverage() {
  const char* kernel_dir = std::getenv("TIMCL_KERNEL_DIR");
  const bool changed = kernel_dir != nullptr && *kernel_dir != 0;
  return flags.which.empty() && !changed ? TIMCL_BINARY_DIR "/coverage" : "";
}

}  // namespace

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  CLI::App app("Runs the cases of every operator on the OpenCL device and on the reference.");
  app.add_option("--case", flags.which, "only this case; words of its line in any order do");
  app.add_option("--seed", flags.seed, "of the random inputs");
  app.add_option("--ops", flags.ops, "only these operators")->delimiter(',');
  app.add_option("--chunk", flags.chunk, "cases per graph, whose kernels are one program");
  app.add_flag("--quick", flags.quick, "one case per encoding");
  app.add_flag("--fail-fast", flags.fail_fast, "stop at the first operator that fails");
  app.add_flag("--float-first", flags.float_first,
               "cases that are all float32 go first: they share few kernel variants");
  app.add_flag("--as-gpu", flags.as_gpu, "kernels and copies as for a GPU with memory of its own");
  app.add_flag("--as-cpu", flags.as_cpu, "kernels as for a CPU, for simulators that are none");
  app.add_flag("--as-avx2", flags.as_avx2, "register tiles as for a CPU with AVX2");
  app.add_flag("--in-caller", flags.in_caller,
               "on PoCL's device that runs kernels in the caller's thread; chunks of up to 32 "
               "kernels there are one kernel");
  app.add_option(
         "--form", flags.form,
         "joined: all steps in one kernel on the main device; helped: in the caller's thread "
         "with helpers; resident: a work-group that waits for the next Run. Fails where "
         "less than 3 of 4 cases are in such a graph: --chunk has to be small")
      ->check(CLI::IsMember({"joined", "helped", "resident"}));
  app.add_option("--limit", flags.limit, "leaves out cases whose inputs have more elements");
  app.add_option("--coverage", flags.coverage,
                 "folder for what ran, which `timcl ops` reads; 'coverage' of the build tree");
  app.add_flag("--list", flags.list, "print the lines of all cases");
  app.add_flag("--sources", flags.sources, "print the kernel files of each operator");
  CLI11_PARSE(app, argc, argv);
  if (flags.sources) {
    for (const auto& def : RunnableOps(Registry())) {
      std::cout << def->name;
      for (const std::string& source : SourcesOf(*def)) std::cout << " " << source;
      std::cout << "\n";
    }
    return 0;
  }
  if (const Form* const form = AskedForm(); form != nullptr) {
    flags.in_caller = form->in_caller;
  }
  if (flags.coverage.empty()) flags.coverage = DefaultCoverage();
  if (flags.fail_fast) GTEST_FLAG_SET(fail_fast, true);
  const std::set<std::string> only(flags.ops.begin(), flags.ops.end());
  const std::string op_of_case = flags.which.substr(0, flags.which.find(' '));
  size_t tests = 0;
  for (const auto& def : RunnableOps(Registry())) {
    const std::string name(def->name);
    if (!only.empty() && only.count(name) == 0) continue;
    if (!flags.which.empty() && name != op_of_case) continue;
    if (flags.list) {
      for (const NamedCase& named : CasesOf(*def)) std::cout << named.text << "\n";
      continue;
    }
    ++tests;
    testing::RegisterTest("Conformance", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [def]() -> testing::Test* { return new OpConformance(*def); });
  }
  if (flags.list) return 0;
  if (tests == 0) {
    std::cerr << "no operator of that name\n";
    return 1;
  }
  const int result = RUN_ALL_TESTS();
  Device() = Status::Error(Code::kCancelled, "the tests are over");
  return result;
}

}  // namespace conformance
}  // namespace tim::vx

int main(int argc, char** argv) { return tim::vx::conformance::Main(argc, argv); }

// A kernel receives sizes and reals by position: their names in each KernelSpec must be the
// kernel's own SIZE and REAL parameters, in order. All cases of all ops, with the kernels of CPUs
// and of other devices.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "backends/opencl/compile/unit.h"
#include "kernels/prelude.h"
#include "support/conformance.h"

namespace tim::vx {
namespace conformance {
namespace {

/// "int N" for sizes, "float A" for reals.
std::vector<std::string> Wanted(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const auto& [name, value] : spec.sizes) names.push_back("int " + name);
  for (const auto& [name, value] : spec.reals) names.push_back("float " + name);
  return names;
}

/// The parameters from `begin` on to the closing bracket, blanks made single.
std::vector<std::string> ParametersAt(const std::string& program, size_t begin) {
  std::vector<std::string> parameters(1);
  for (size_t i = begin; i < program.size() && program[i] != ')'; ++i) {
    const char c = program[i];
    std::string& last = parameters.back();
    if (c == ',') {
      parameters.emplace_back();
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      last += c;
    } else if (!last.empty() && last.back() != ' ') {
      last += ' ';
    }
  }
  for (std::string& p : parameters) {
    while (!p.empty() && p.back() == ' ') p.pop_back();
  }
  return parameters;
}

struct Check {
  size_t variant = 0;
  std::vector<std::string> wanted;
  std::string what;
};

TEST(KernelParameters, SizesAndRealsAreNamedAsInTheKernel) {
  DeviceCaps cpu;
  cpu.is_cpu = cpu.register_tiles_pay = cpu.dot_product_bf16 = true;
  opencl::Wishes relaxed;
  relaxed.relaxed = true;
  std::vector<kernels::VariantText> variants;
  std::map<std::string, size_t> known;
  std::set<std::string> seen, sources;
  kernels::Sources built_in("");
  std::vector<Check> checks;
  for (const auto& def : Registry().All()) {
    for (const NamedCase& named : CasesOf(*def)) {
      if (named.c.bench) continue;
      TestGraph graph;
      const int node = AddCaseOverZeros(named, &graph);
      if (node < 0) continue;
      const OpView op = graph.graph().view(node);
      std::vector<TensorType> ins, outs;
      for (size_t i = 0; i < op.num_inputs(); ++i)
        ins.push_back(op.in(i).present() ? op.in(i).type() : TensorType());
      for (size_t i = 0; i < op.num_outputs(); ++i) outs.push_back(op.out(i).type());
      for (const KernelCandidate& candidate : def->kernels) {
        for (const DeviceCaps& caps : {cpu, DeviceCaps()}) {
          const auto offer = opencl::AskKernel(candidate, op, caps, relaxed);
          if (!offer.ok()) continue;
          const auto launches = opencl::MakeLaunches(candidate, *offer, op, caps, relaxed);
          if (!launches.ok()) continue;
          for (const KernelSpec& spec : *launches) {
            if (!spec.user_source.empty()) continue;
            auto text = kernels::MakeVariant(spec, ins, outs, {}, outs.at(0), &built_in);
            ASSERT_TRUE(text.ok()) << named.text << ": " << text.status().message();
            const auto [it, added] = known.emplace(text->text, variants.size());
            if (added) variants.push_back(std::move(*text));
            const std::vector<std::string> wanted = Wanted(spec);
            sources.insert(spec.source);
            if (seen.insert(fmt::format("{} {}", it->second, fmt::join(wanted, ","))).second)
              checks.push_back(
                  {it->second, wanted,
                   fmt::format("{} by '{}', {}", named.text, candidate.name, spec.source)});
          }
        }
      }
    }
  }
  EXPECT_GE(sources.size(), 10u);
  ASSERT_GE(variants.size(), 100u);
  // A launch of several kernels can supply the work-items only of those that ask by the macros.
  for (const std::string& source : sources) {
    const std::string text = *kernels::FindSource(source, "");
    EXPECT_EQ(text.find("get_global_"), std::string::npos) << source << ": WORK_ITEM(d)";
    EXPECT_EQ(text.find("kernel void"), std::string::npos) << source << ": KERNEL(name)";
  }
  std::vector<const kernels::VariantText*> pointers;
  for (const auto& v : variants) pointers.push_back(&v);
  char folder[] = "/tmp/timcl_parameters_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string in = std::string(folder) + "/program.cl",
                    out = std::string(folder) + "/program.i";
  std::ofstream(in) << kernels::AssembleProgram(pointers, "");
  const std::string command =
      fmt::format("'{}' -E -P -x c '{}' -o '{}'", TIMCL_PREPROCESSOR, in, out);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(out);
  const std::string program{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove_all(folder);
  // In the program's order, so that it is read once: it has many megabytes.
  std::stable_sort(checks.begin(), checks.end(),
                   [](const Check& a, const Check& b) { return a.variant < b.variant; });
  size_t at = 0;
  for (const Check& c : checks) {
    const std::string kernel = kernels::EntryName(variants[c.variant], c.variant);
    at = program.find(" " + kernel + "(", at);
    ASSERT_NE(at, std::string::npos) << c.what << ": " << kernel;
    std::vector<std::string> got = ParametersAt(program, at + kernel.size() + 2);
    ASSERT_GE(got.size(), c.wanted.size()) << c.what << ": " << kernel;
    got.erase(got.begin(), got.end() - static_cast<std::ptrdiff_t>(c.wanted.size()));
    EXPECT_EQ(got, c.wanted) << c.what;
  }
}

}  // namespace
}  // namespace conformance
}  // namespace tim::vx

// Program texts: what the run half is given is complete.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

#include "backends/opencl/compile/unit.h"

namespace tim::vx::opencl {

void AssemblePrograms(const std::vector<Emitted*>& partitions, const std::string& kernel_dir) {
  std::vector<const Variant*> all;
  for (const Emitted* p : partitions) {
    for (const Variant& v : p->variants) all.push_back(&v);
  }
  std::sort(all.begin(), all.end(), [](const Variant* a, const Variant* b) {
    return std::tuple_cat(a->code(), std::tie(a->origin)) <
           std::tuple_cat(b->code(), std::tie(b->origin));
  });
  all.erase(std::unique(all.begin(), all.end(),
                        [](const Variant* a, const Variant* b) { return a->code() == b->code(); }),
            all.end());

  // By position in `all`; every partition then takes what it uses.
  std::vector<std::shared_ptr<const ProgramText>> program_of(all.size());
  std::vector<std::string> function_of(all.size());
  std::vector<kernels::VariantText> texts;
  std::set<std::string> origins;
  for (const Variant* v : all) {
    if (!v->user) texts.push_back({v->text, v->entry, v->origin, {}}), origins.insert(v->origin);
  }
  if (!texts.empty()) {
    auto program = std::make_shared<ProgramText>();
    std::vector<const kernels::VariantText*> pointers;
    for (const kernels::VariantText& t : texts) {
      program->functions.push_back(kernels::EntryName(t, pointers.size()));
      pointers.push_back(&t);
      if (texts.size() == 1) break;
      auto alone = std::make_shared<ProgramText>();
      alone->source = kernels::AssembleProgram({&t}, kernel_dir);
      alone->origin = t.origin;
      alone->functions = {kernels::EntryName(t, 0)};
      program->alone.push_back(std::move(alone));
    }
    program->source = kernels::AssembleProgram(pointers, kernel_dir);
    program->origin = fmt::format("{}", fmt::join(origins, ", "));
    for (size_t i = 0; i < texts.size(); ++i) {  // those without a user stand first
      program_of[i] = program;
      function_of[i] = program->functions[i];
    }
  }
  for (size_t i = texts.size(); i < all.size();) {
    const Variant& v = *all[i];
    auto program = std::make_shared<ProgramText>(
        ProgramText{v.text, v.options, v.origin, {}, true, v.images, {}});
    size_t end = i;  // sorted: functions of one text are neighbours
    for (; end < all.size() && all[end]->text == v.text && all[end]->options == v.options; ++end) {
      program->functions.push_back(all[end]->entry);
      function_of[end] = all[end]->entry;
    }
    for (size_t k = i; end - i > 1 && k < end; ++k) {
      program->alone.push_back(std::make_shared<ProgramText>(
          ProgramText{v.text, v.options, all[k]->origin, {all[k]->entry}, true, v.images, {}}));
    }
    for (; i < end; ++i) program_of[i] = program;
  }

  for (Emitted* p : partitions) {
    for (const Variant& v : p->variants) {
      const auto same =
          std::lower_bound(all.begin(), all.end(), v,
                           [](const Variant* a, const Variant& b) { return a->code() < b.code(); });
      const size_t at = static_cast<size_t>(same - all.begin());
      auto& programs = p->plan.programs;
      const auto found = std::find(programs.begin(), programs.end(), program_of[at]);
      p->plan.kernels.push_back({static_cast<size_t>(found - programs.begin()), function_of[at]});
      if (found == programs.end()) programs.push_back(program_of[at]);
    }
  }
}

Result<std::string> WithImagePrelude(const std::string& user_source, const std::string& origin,
                                     const std::string& kernel_dir, const std::string& macros) {
  TIMCL_ASSIGN(std::string text, kernels::FindSource("image_prelude.clh", kernel_dir));
  std::string quoted;  // a name for messages: nothing that would end the string
  for (const char c : origin) quoted += c == '"' || c == '\\' || c == '\n' ? '\'' : c;
  return "#line 1 \"image_prelude.clh\"\n" + text + macros +
         fmt::format("\n#line 1 \"{}\"\n{}\n", quoted, user_source);
}

}  // namespace tim::vx::opencl

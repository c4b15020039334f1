# timcl_write_op_table(headers sources dir): writes tim/vx/ops.h, which includes every op header, and op_table.cc, which calls
# the TIMCL_OPS function of every op file.
function(timcl_write_op_table headers sources dir)
  set(text "// Generated: every operator header.\n#ifndef TIM_VX_OPS_H_\n#define TIM_VX_OPS_H_\n\n")
  foreach(header ${headers})
    string(APPEND text "#include \"${header}\"\n")
  endforeach()
  string(APPEND text "\n#endif  // TIM_VX_OPS_H_\n")
  file(CONFIGURE OUTPUT ${dir}/include/tim/vx/ops.h CONTENT "${text}" @ONLY)

  set(declare "")
  set(call "")
  foreach(source ${sources})
    file(STRINGS ${source} found REGEX "^TIMCL_OPS\\(")
    foreach(line ${found})
      string(REGEX REPLACE "^TIMCL_OPS\\(([a-z0-9_]+)\\).*" "\\1" stem "${line}")
      string(APPEND declare "void RegisterOps_${stem}(OpRegistry&, const char* origin);\n")
      string(APPEND call "  RegisterOps_${stem}(registry, \"built-in\");\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${dir}/op_table.cc CONTENT
"// Generated: the table of built-in operators.
#include \"tim/vx/op_def.h\"

namespace tim::vx::ops {
${declare}
void RegisterBuiltinOps(OpRegistry& registry);
void RegisterBuiltinOps([[maybe_unused]] OpRegistry& registry) {
${call}}
}  // namespace tim::vx::ops
" @ONLY)
endfunction()

# timcl_add_op_plugin(<target> SOURCES <file>... [KERNELS <file>...] [LIBS <library>...]): the plugin libtimcl_<target>.so. One
# of its sources has TIMCL_OP_PLUGIN (tim/vx/op_plugin.h). KERNELS, *.cl and *.clh, are embedded: the kernels of its operators
# name them (KernelSpec::source) and they include each other. It shows no other name than the one that the library asks for, so
# that it can be closed again and no two plugins meet. Installed in timcl_PLUGIN_DIR it finds the library beside it:
#   install(TARGETS <target> LIBRARY DESTINATION <libdir>/timcl/plugins)
set_property(GLOBAL PROPERTY TIMCL_PLUGIN_EXPORTS ${CMAKE_CURRENT_LIST_DIR}/plugin_exports.map)
function(timcl_add_op_plugin target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;KERNELS;LIBS")
  if(NOT ARG_SOURCES OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "timcl_add_op_plugin(${target}): SOURCES is missing, or '${ARG_UNPARSED_ARGUMENTS}' stands in front of it")
  endif()
  get_property(exports GLOBAL PROPERTY TIMCL_PLUGIN_EXPORTS)
  add_library(${target} MODULE ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_LIBS} timcl::timcl -Wl,-z,defs -Wl,--version-script=${exports})
  if(ARG_KERNELS)
    timcl_embed_kernels(${target} tim::vx::op_plugin_detail::kPluginKernels ${ARG_KERNELS})
    target_compile_definitions(${target} PRIVATE TIMCL_PLUGIN_KERNELS)
  endif()
  target_compile_features(${target} PRIVATE cxx_std_17)
  set_target_properties(${target} PROPERTIES PREFIX libtimcl_ CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON LINK_DEPENDS ${exports} INSTALL_RPATH "$ORIGIN/../..")
endfunction()

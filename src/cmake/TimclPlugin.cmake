# timcl_add_plugin(<target> SOURCES <file>... [LIBS <library>...]): the plugin libtimcl_<target>.so, C or C++, which sees this
# library's headers and is not linked with it: tim/vx/backend_plugin.h, tim/vx/plugin.h. It shows no other name than the one that
# the library asks for, so that it can be closed again and no two plugins meet. It is installed in timcl_PLUGIN_DIR:
#   install(TARGETS <target> LIBRARY DESTINATION <libdir>/timcl/plugins)
set_property(GLOBAL PROPERTY TIMCL_PLUGIN_EXPORTS ${CMAKE_CURRENT_LIST_DIR}/plugin_exports.map)
function(timcl_add_plugin target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LIBS")
  if(NOT ARG_SOURCES OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${target}, a plugin: SOURCES is missing, or '${ARG_UNPARSED_ARGUMENTS}' stands in front of it")
  endif()
  get_property(exports GLOBAL PROPERTY TIMCL_PLUGIN_EXPORTS)
  add_library(${target} MODULE ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:timcl::timcl,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(${target} PRIVATE ${ARG_LIBS} -Wl,-z,defs -Wl,--version-script=${exports})
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(CXX IN_LIST languages)
    target_compile_features(${target} PRIVATE cxx_std_17)
  endif()
  set_target_properties(${target} PROPERTIES PREFIX libtimcl_ C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON LINK_DEPENDS ${exports})
endfunction()

# timcl_add_op_plugin(<target> SOURCES <file>... [KERNELS <file>...] [LIBS <library>...]): the same for operators in C++, which
# is linked with this library and, installed, finds it beside its folder. One of its sources has TIMCL_OP_PLUGIN
# (tim/vx/op_plugin.h). KERNELS, *.cl and *.clh, are embedded: the kernels of its operators name them (KernelSpec::source) and
# they include each other.
function(timcl_add_op_plugin target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;KERNELS;LIBS")
  timcl_add_plugin(${target} ${ARG_UNPARSED_ARGUMENTS} SOURCES ${ARG_SOURCES} LIBS ${ARG_LIBS} timcl::timcl)
  if(ARG_KERNELS)
    timcl_embed_kernels(${target} tim::vx::op_plugin_detail::kPluginKernels ${ARG_KERNELS})
    target_compile_definitions(${target} PRIVATE TIMCL_PLUGIN_KERNELS)
  endif()
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../..")
endfunction()

# find_package(tim-vx), for programs written for TIM-VX: the targets tim-vx and tim-vx::tim-vx, which are timcl::timcl.
include("${CMAKE_CURRENT_LIST_DIR}/../timcl/timclConfig.cmake")
if(NOT TARGET tim-vx)
  add_library(tim-vx INTERFACE IMPORTED)
  # Such programs link with "-Wl,--whole-archive tim-vx" and leave it open, which would take in the compiler's own archives.
  set_target_properties(tim-vx PROPERTIES INTERFACE_LINK_LIBRARIES "timcl::timcl;-Wl,--no-whole-archive")
  add_library(tim-vx::tim-vx ALIAS tim-vx)
endif()

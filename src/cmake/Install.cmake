# What `cmake --install` puts where. The installed tree may be moved: nothing in it knows its own place. The components are
# the Debian packages of Packages.cmake. README, "Use it in your program", is for those who use it.
include(CMakePackageConfigHelpers)
set(packages ${CMAKE_INSTALL_LIBDIR}/cmake)
set(plugins ${CMAKE_INSTALL_LIBDIR}/timcl/plugins)
set(configured ${PROJECT_BINARY_DIR}/install)
# Below /usr all is as the system wants it.
string(COMPARE EQUAL "${CMAKE_INSTALL_PREFIX}" /usr system)

install(TARGETS timcl EXPORT timclTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime
  NAMELINK_COMPONENT development)
install(DIRECTORY DESTINATION ${plugins} COMPONENT runtime)
# Optional: who builds single targets (scripts/samples.sh does) can install without the command.
install(TARGETS timcl_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools OPTIONAL)

# The oneDNN delegate, library and header, where it is built.
if(TIMCL_HAS_ONEDNN)
  install(TARGETS timcl_onednn LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT onednn OPTIONAL)
  install(FILES ${PROJECT_SOURCE_DIR}/include/tim/vx/delegates/onednn.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tim/vx/delegates COMPONENT onednn)
endif()

# Headers. The names that callers of the original take from its private folders stand beside tim/; half.hpp belongs to
# somebody else and is out of the way of those who do not ask for it.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tim ${TIMCL_GENERATED}/include/tim
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development PATTERN delegates EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/compat/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN *.h PATTERN third_party EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/compat/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/timcl/compat
  COMPONENT development FILES_MATCHING PATTERN *.hpp)

# find_package(timcl), and find_package(tim-vx) for programs written for the original, whose version it has.
set(TIMCL_ORIGINAL_VERSION 1.2.22)
install(EXPORT timclTargets NAMESPACE timcl:: DESTINATION ${packages}/timcl COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/package/timclConfig.cmake.in ${configured}/timclConfig.cmake
  INSTALL_DESTINATION ${packages}/timcl PATH_VARS plugins CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${configured}/timclConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${configured}/timclConfig.cmake ${configured}/timclConfigVersion.cmake DESTINATION ${packages}/timcl
  COMPONENT development)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/TimclPlugin.cmake ${CMAKE_CURRENT_LIST_DIR}/EmbedKernels.cmake ${CMAKE_CURRENT_LIST_DIR}/plugin_exports.map
  DESTINATION ${packages}/timcl COMPONENT development)
write_basic_package_version_file(${configured}/tim-vxConfigVersion.cmake VERSION ${TIMCL_ORIGINAL_VERSION}
  COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/package/tim-vxConfig.cmake ${configured}/tim-vxConfigVersion.cmake
  DESTINATION ${packages}/tim-vx COMPONENT development)

# pkg-config. Folders are told from where the file itself stands, but for /usr: its own are left out of what it prints.
if(system)
  set(TIMCL_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(TIMCL_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
  set(TIMCL_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  foreach(folder PREFIX FULL_LIBDIR FULL_INCLUDEDIR)
    file(RELATIVE_PATH path ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_${folder}})
    string(REGEX REPLACE "FULL_" "" folder ${folder})
    string(REGEX REPLACE "/$" "" TIMCL_PC_${folder} "\${pcfiledir}/${path}")
  endforeach()
endif()
list(TRANSFORM TIMCL_FEATURES PREPEND -D OUTPUT_VARIABLE TIMCL_FEATURE_FLAGS)
list(JOIN TIMCL_FEATURE_FLAGS " " TIMCL_FEATURE_FLAGS)
foreach(name timcl tim-vx)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/package/${name}.pc.in ${configured}/${name}.pc @ONLY)
  install(FILES ${configured}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

# The drop-in: -ltim-vx. Programs for the original look for it in <prefix>/lib, and search that folder again when they start,
# whatever the system calls its folder of libraries.
function(timcl_install_link folder name target)
  file(MAKE_DIRECTORY ${configured}/${folder})
  file(CREATE_LINK ${target} ${configured}/${folder}/${name} SYMBOLIC)
  install(FILES ${configured}/${folder}/${name} DESTINATION ${folder} COMPONENT development)
endfunction()
timcl_install_link(${CMAKE_INSTALL_LIBDIR} libtim-vx.so libtimcl.so)
if(NOT system AND NOT CMAKE_INSTALL_FULL_LIBDIR STREQUAL "${CMAKE_INSTALL_PREFIX}/lib")
  file(RELATIVE_PATH to_libraries ${CMAKE_INSTALL_PREFIX}/lib ${CMAKE_INSTALL_FULL_LIBDIR})
  timcl_install_link(lib libtim-vx.so ${to_libraries}/libtimcl.so)
  timcl_install_link(lib libtimcl.so.${PROJECT_VERSION_MAJOR} ${to_libraries}/libtimcl.so.${PROJECT_VERSION_MAJOR})
endif()

# The licence; Debian wants it once per package, under its own name.
if(system)
  foreach(package runtime:libtimcl${PROJECT_VERSION_MAJOR} development:libtimcl-dev tools:timcl-tools)
    string(REGEX MATCH "^(.*):(.*)$" package ${package})
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${CMAKE_MATCH_2}
      RENAME copyright COMPONENT ${CMAKE_MATCH_1})
  endforeach()
else()
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
endif()

# Installs what is built, once for all tests, and moves it: the tree must not know where it was put.
file(REMOVE_RECURSE ${FOLDER})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_QUIET)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "ended with ${result}: ${ARGN}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${FOLDER}/first)
file(RENAME ${FOLDER}/first ${FOLDER}/prefix)

# As after `cmake --build --target samples`: the command is not there, which must not stop the rest.
file(READ ${BINARY_DIR}/src/cmake_install.cmake text)
string(REPLACE "${TOOL}\"" "${TOOL}.not_built\"" text "${text}")
if(NOT text MATCHES "timcl.not_built")
  message(FATAL_ERROR "the installation does not mention ${TOOL} at all")
endif()
file(WRITE ${FOLDER}/without_tool.cmake "${text}")
run(${CMAKE_COMMAND} -D CMAKE_INSTALL_PREFIX=${FOLDER}/without_tool -D CMAKE_INSTALL_COMPONENT=tools
  -P ${FOLDER}/without_tool.cmake)

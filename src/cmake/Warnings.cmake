# timcl_warnings(target): warnings for our own code. The presets for development make errors of them
# (CMAKE_COMPILE_WARNING_AS_ERROR); who only builds it has perhaps a compiler that warns of more.
function(timcl_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow=local -Wnon-virtual-dtor)
  # "text" + std::string is reported by g++ 12 at -O2 and above (GCC bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
endfunction()

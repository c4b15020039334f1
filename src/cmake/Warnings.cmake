# timcl_warnings(target): warnings as errors for our own code.
function(timcl_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Werror -Wshadow=local -Wnon-virtual-dtor)
endfunction()

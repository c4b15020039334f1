# TIMCL_SANITIZE applies to every target, so that all of a process is instrumented alike.
if(TIMCL_SANITIZE)
  # g++ 12 sees uninitialized reads in instrumented code of the standard library that are none (GCC bug 105562).
  add_compile_options(-fsanitize=${TIMCL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined
    -Wno-error=maybe-uninitialized)
  add_link_options(-fsanitize=${TIMCL_SANITIZE})
endif()

# TIMCL_SANITIZE applies to every target, so that all of a process is instrumented alike.
if(TIMCL_SANITIZE)
  # Instrumented code confuses g++'s flow analysis: it warns of <regex>, which it takes without sanitizers.
  add_compile_options(-fsanitize=${TIMCL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined -Wno-maybe-uninitialized)
  # Tests hand over enumerators that do not exist, as callers do; the library checks them by value.
  if(TIMCL_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=enum)
  endif()
  add_link_options(-fsanitize=${TIMCL_SANITIZE})
endif()

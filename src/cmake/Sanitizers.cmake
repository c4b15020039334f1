# TIMCL_SANITIZE applies to every target, so that all of a process is instrumented alike.
if(TIMCL_SANITIZE)
  add_compile_options(-fsanitize=${TIMCL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${TIMCL_SANITIZE})
endif()

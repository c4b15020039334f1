// What the `count` layer counts, and how a test in the same process asks for it (see
// layer_access.h). Counters are of calls made, failed ones included; `live_*` are references held:
// created and retained minus released, failed calls left out. Kernels may run from their enqueuing
// to the clFinish of their queue; binaries_and_kernels counts each call that overlaps, from either
// side. Only what passes the loader is seen, never what a driver does inside, nor functions that a
// program fetched with clGetExtensionFunctionAddress.
#ifndef TIMCL_TESTS_LAYERS_COUNT_LAYER_H_
#define TIMCL_TESTS_LAYERS_COUNT_LAYER_H_

#include <stdint.h>

#define TIMCL_COUNTS(X)                                          \
  X(finish)               /* clFinish */                         \
  X(wait_for_events)      /* clWaitForEvents */                  \
  X(blocking_read)        /* Read{Buffer,BufferRect,Image} */    \
  X(blocking_write)       /* Write{Buffer,BufferRect,Image} */   \
  X(blocking_map)         /* Map{Buffer,Image} */                \
  X(blocking_svm)         /* SVMMemcpy, SVMMap */                \
  X(nonblocking_transfer) /* any of these four, not blocking */  \
  X(enqueue_kernel)       /* clEnqueueNDRangeKernel, Task */     \
  X(enqueue_copy_or_fill) /* device to device */                 \
  X(flush)                /* clFlush */                          \
  X(build_program)        /* clBuildProgram */                   \
  X(compile_program)      /* clCompileProgram */                 \
  X(link_program)         /* clLinkProgram */                    \
  X(program_with_source)  /* clCreateProgramWithSource */        \
  X(program_with_binary)  /* clCreateProgramWithBinary, IL */    \
  X(program_binaries)     /* clGetProgramInfo(.._BINARIES) */    \
  X(binaries_and_kernels) /* of these: while kernels may run */  \
  X(create_buffer)        /* clCreateBuffer, WithProperties */   \
  X(create_sub_buffer)    /* clCreateSubBuffer */                \
  X(create_image)         /* clCreateImage*, */                  \
  X(svm_alloc)            /* clSVMAlloc */                       \
  X(create_kernel)        /* clCreateKernel, KernelsInProgram */ \
  X(create_queue)         /* clCreateCommandQueue* */            \
  X(create_context)       /* clCreateContext* */                 \
  X(live_mem_objects)     /* references: buffers and images */   \
  X(live_programs)        /* references */                       \
  X(live_kernels)         /* references */                       \
  X(live_queues)          /* references */                       \
  X(live_contexts)        /* references */                       \
  X(live_svm)             /* clSVMAlloc minus clSVMFree */

#ifdef __cplusplus
extern "C" {
#endif

struct timcl_counts {
#define TIMCL_COUNT_FIELD(name) int64_t name;
  TIMCL_COUNTS(TIMCL_COUNT_FIELD)
#undef TIMCL_COUNT_FIELD
};

// Exported by the layer. To count one Run: a snapshot before, one after, and the difference.
typedef void (*timcl_count_snapshot_fn)(struct timcl_counts*);  // "timcl_count_snapshot"

// How often the host waited for the device.
static inline int64_t timcl_count_syncs(const struct timcl_counts* c) {
  return c->finish + c->wait_for_events + c->blocking_read + c->blocking_write + c->blocking_map +
         c->blocking_svm;
}

#ifdef __cplusplus
}
#endif

#endif  // TIMCL_TESTS_LAYERS_COUNT_LAYER_H_

// How a test in the same process makes OpenCL fail on purpose (see layer_access.h). Without code:
// TIMCL_FAULT_CALL=<kind> TIMCL_FAULT_N=<n> in the environment arms the layer when it is loaded.
//
// kind      calls it stands for                                   error
// buffer    clCreateBuffer*, SubBuffer, Image*                    CL_MEM_OBJECT_ALLOCATION_FAILURE
//           clSVMAlloc                                            a null pointer
// build     clBuildProgram                                        CL_BUILD_PROGRAM_FAILURE
//           clCompileProgram, clLinkProgram                       CL_COMPILE_..,
//           CL_LINK_PROGRAM_FAILURE clCreateProgramWithSource, WithIL CL_OUT_OF_HOST_MEMORY
//           clCreateProgramWithBinary                             CL_INVALID_BINARY
// kernel    clCreateKernel, KernelsInProgram, clSetKernelArg      CL_OUT_OF_HOST_MEMORY
// enqueue   NDRangeKernel, Task, copies and fills                 CL_OUT_OF_RESOURCES
// read      Read{Buffer,BufferRect,Image}, Map{Buffer,Image},     CL_OUT_OF_RESOURCES
//           SVMMemcpy, SVMMap
// write     Write{Buffer,BufferRect,Image}, UnmapMemObject,       CL_OUT_OF_RESOURCES
//           SVMUnmap
// wait      clFinish, clWaitForEvents, clFlush                    CL_OUT_OF_RESOURCES
// setup     clCreateContext*, clCreateCommandQueue*               CL_OUT_OF_HOST_MEMORY
// binary    clGetProgramInfo(CL_PROGRAM_BINARIES)                 CL_OUT_OF_HOST_MEMORY
// any       all of these
//
// A failed call does not reach the layers and the driver below; a wait that fails for good does,
// since a device that is lost runs nothing more.
#ifndef TIMCL_TESTS_LAYERS_FAULT_LAYER_H_
#define TIMCL_TESTS_LAYERS_FAULT_LAYER_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Exported by the layer:
// "timcl_fault_arm": from now on, the call number n (0 = the next one) of this kind fails, once.
// Kind "none" disarms. Returns 0, or -1 where the kind is unknown or n negative (nothing changes).
typedef int (*timcl_fault_arm_fn)(const char* kind, int n);
// "timcl_fault_arm_from": the same, but every call from the n-th on fails, until it is armed anew.
typedef int (*timcl_fault_arm_from_fn)(const char* kind, int n);
// "timcl_fault_delay": from now on, each call of this kind first sleeps so long; "none" ends it.
// Makes races wide, and what only seems to be done visible. Returns as arming does.
typedef int (*timcl_fault_delay_fn)(const char* kind, int milliseconds);
// "timcl_fault_hits": the failures made since it was armed: 0 or 1, or more with arm_from.
typedef int (*timcl_fault_hits_fn)(void);
// "timcl_fault_seen": the calls of the armed kind since it was armed, the failed one included.
typedef int (*timcl_fault_seen_fn)(void);

#ifdef __cplusplus
}
#endif

#endif  // TIMCL_TESTS_LAYERS_FAULT_LAYER_H_

// OpenCL error codes as words, and as Status.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_CL_ERROR_H_
#define TIMCL_BACKENDS_OPENCL_RUN_CL_ERROR_H_

#include <CL/cl.h>

#include <string>

#include "tim/vx/status.h"

namespace tim::vx::opencl {

/// "CL_INVALID_VALUE"; a number in words for codes that are not in the table.
std::string ClErrorName(cl_int error);
/// kOutOfMemory when memory was what lacked, else kDevice: "clEnqueueNDRangeKernel failed with
/// CL_INVALID_WORK_GROUP_SIZE: Add#12". Success for CL_SUCCESS.
Status ClStatus(cl_int error, const char* call, const std::string& where);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_CL_ERROR_H_

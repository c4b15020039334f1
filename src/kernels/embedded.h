// Kernel files in memory: those of this folder, which EmbedKernels.cmake writes, and those of
// plugins.
#ifndef TIMCL_KERNELS_EMBEDDED_H_
#define TIMCL_KERNELS_EMBEDDED_H_

#include "tim/vx/kernel_sources.h"

namespace tim::vx::kernels {

extern const KernelSources kBuiltInSources;

/// From now on the shared library in which `code` lies has these files, until it is closed.
/// Threads: any.
void AddSources(const void* code, const KernelSources* sources);
void RemoveSources(const void* code);
/// The files of the library in which this function lies; null: none were added.
const KernelSources* SourcesOf(const void* code);

}  // namespace tim::vx::kernels

#endif  // TIMCL_KERNELS_EMBEDDED_H_

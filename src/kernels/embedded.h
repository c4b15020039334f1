// The texts of src/kernels/*.cl and *.clh, in the library; EmbedCl.cmake writes the table.
#ifndef TIMCL_KERNELS_EMBEDDED_H_
#define TIMCL_KERNELS_EMBEDDED_H_

#include <cstddef>

namespace tim::vx::kernels {

struct EmbeddedSource {
  const char* name;  // path below the folder, e.g. "gemm.cl"
  const char* text;  // unchanged, ends with a zero byte
  size_t size;       // bytes, without that zero
};

extern const EmbeddedSource kEmbeddedSources[];
extern const size_t kEmbeddedSourceCount;

}  // namespace tim::vx::kernels

#endif  // TIMCL_KERNELS_EMBEDDED_H_

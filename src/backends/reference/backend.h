// The reference backend: every op through its scalar definition. The oracle of the tests, and the
// last fallback.
#ifndef TIMCL_BACKENDS_REFERENCE_BACKEND_H_
#define TIMCL_BACKENDS_REFERENCE_BACKEND_H_

#include <memory>

#include "tim/vx/backend.h"

namespace tim::vx::reference {

std::shared_ptr<Backend> CreateBackend();

}  // namespace tim::vx::reference
#endif  // TIMCL_BACKENDS_REFERENCE_BACKEND_H_

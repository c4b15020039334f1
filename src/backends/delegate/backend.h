// The backend that stands behind one Delegate: Build's edits become a Selection, each kernel that
// was put into the list a partition of its own.
#ifndef TIMCL_BACKENDS_DELEGATE_BACKEND_H_
#define TIMCL_BACKENDS_DELEGATE_BACKEND_H_

#include <memory>

#include "tim/vx/delegate.h"

namespace tim::vx::delegate {

/// Asks the delegate for its name. kInvalidArgument: there is none; kInternal: it threw.
Result<std::shared_ptr<Backend>> CreateBackend(std::shared_ptr<Delegate> delegate);

}  // namespace tim::vx::delegate
#endif  // TIMCL_BACKENDS_DELEGATE_BACKEND_H_

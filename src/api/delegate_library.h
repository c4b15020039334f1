// Delegates in libraries of their own, as TIMCL_DELEGATE names them.
#ifndef TIMCL_API_DELEGATE_LIBRARY_H_
#define TIMCL_API_DELEGATE_LIBRARY_H_

#include <memory>
#include <string>

#include "tim/vx/delegate.h"

namespace tim::vx {

/// A delegate made by a library, which is opened once and stays. `name`: a path with a '/', or
/// "foo" for libtimcl_foo.so beside this library, else where the loader looks. The error says what
/// was looked for, and is logged once for each name.
Result<std::shared_ptr<Delegate>> OpenDelegate(const std::string& name);

}  // namespace tim::vx
#endif  // TIMCL_API_DELEGATE_LIBRARY_H_

// Stands in for the umbrella header of the original's internal library: callers include it only to
// see feature macros.
#ifndef TIMCL_COMPAT_VSI_NN_PUB_H_
#define TIMCL_COMPAT_VSI_NN_PUB_H_

#include "tim/vx/features.h"

/// Broadcast honours its `dimensions` argument.
#define VSI_EXPAND_BROADCAST_ENABLE_DIMENSIONS 1

#endif  // TIMCL_COMPAT_VSI_NN_PUB_H_

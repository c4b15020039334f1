#!/bin/sh
# Runs a test that is about an OpenCL device by nature: TIMCL_DEVICE=reference is not for it; the
# name of a device is.
[ "$TIMCL_DEVICE" = reference ] && unset TIMCL_DEVICE
exec "$@"

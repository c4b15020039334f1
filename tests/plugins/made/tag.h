/* TIMCL_CXX_TAG in C, for plugins that get past it. */
#define TAG "timcl 1.0 / C++ ABI 1017 / libstdc++ dual ABI 1"

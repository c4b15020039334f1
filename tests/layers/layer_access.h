// For tests: finds the functions that the layers named in OPENCL_LAYERS export, e.g.
//   auto snapshot = FindInLayers<timcl_count_snapshot_fn>("timcl_count_snapshot");
#ifndef TIMCL_TESTS_LAYERS_LAYER_ACCESS_H_
#define TIMCL_TESTS_LAYERS_LAYER_ACCESS_H_

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "count_layer.h"

// Read before main: ocl-icd cuts the variable into pieces, in place, at the first OpenCL call.
inline const std::string kOpenClLayers =
    std::getenv("OPENCL_LAYERS") != nullptr ? std::getenv("OPENCL_LAYERS") : "";

// Null where no layer has it. The loader opens layers with RTLD_LOCAL at the first OpenCL call;
// opening the same file again gives the same copy, and works before that first call too.
template <typename Fn>
Fn FindInLayers(const char* symbol) {
  std::istringstream paths(kOpenClLayers);
  for (std::string path; std::getline(paths, path, ':');) {
    if (void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      if (void* found = dlsym(library, symbol)) return reinterpret_cast<Fn>(found);
      dlclose(library);
    }
  }
  return nullptr;
}

// What the `count` layer has counted by now; zeros without it.
inline timcl_counts Snapshot() {
  static const auto snapshot = FindInLayers<timcl_count_snapshot_fn>("timcl_count_snapshot");
  timcl_counts counts{};
  if (snapshot != nullptr) snapshot(&counts);
  return counts;
}

#endif  // TIMCL_TESTS_LAYERS_LAYER_ACCESS_H_

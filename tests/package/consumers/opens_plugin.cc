// Loads the plugin, uses it and lets it go, twice.
#include <dlfcn.h>

#include <cstdint>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (int round = 0; round < 2; ++round) {
    void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    using Sum = float (*)(const float*, uint32_t);
    const Sum sum = plugin ? reinterpret_cast<Sum>(dlsym(plugin, "Sum")) : nullptr;
    const float values[] = {1, 2, 3.5f};
    if (!sum || sum(values, 3) != 6.5f) {
      const char* why = dlerror();
      std::cerr << "wrong in round " << round << ": " << (why ? why : "another sum") << "\n";
      return 1;
    }
    dlclose(plugin);
  }
  return 0;
}

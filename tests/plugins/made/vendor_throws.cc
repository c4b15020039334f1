// The vendor of vendor.c as C++, whose functions throw where a fault says so.
#include <stdexcept>

#define THROWS(function) throw std::runtime_error(function " ran into a wall")

extern "C" {
#include "vendor.c"  // NOLINT: compiled as C++
}

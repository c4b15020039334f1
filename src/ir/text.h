// What the printer and the parser of the graph text, and the drawings of graphs, share; parse.cc
// has the grammar.
#ifndef TIMCL_IR_TEXT_H_
#define TIMCL_IR_TEXT_H_

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "tim/vx/tensor_type.h"

namespace tim::vx::ir::text {

/// Statements that declare a value which no op writes. No op kind is printed as one of them.
inline constexpr std::string_view kInput = "input", kOutput = "output", kTransient = "transient",
                                  kConstant = "constant";

inline bool IsWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool IsWordPart(char c) {
  return IsWordStart(c) || (c >= '0' && c <= '9') || c == '.' || c == ':';
}

/// A hue, of 1 for all the way round, for each number: neighbours lie far apart, as steps of the
/// golden ratio do.
inline double Hue(size_t index) {
  const double turn = static_cast<double>(index) * 0.618034;
  return turn - std::floor(turn);
}

/// In double quotes, with escapes for quotes, backslashes and control characters.
std::string Quoted(std::string_view s);
/// "u8(0.0039,0)": dtype and quantization; every field reads back exactly.
std::string Encoding(const TensorType& type);

}  // namespace tim::vx::ir::text
#endif  // TIMCL_IR_TEXT_H_

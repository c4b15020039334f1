// Numbers and texts as bytes, for files: 8 bytes of a number, lowest first; a text is its length,
// then its bytes.
#ifndef TIMCL_BASE_BYTES_H_
#define TIMCL_BASE_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tim::vx::base {

inline void PutNumber(std::string* out, uint64_t n) {
  for (int i = 0; i < 8; ++i) *out += static_cast<char>(n >> (8 * i));
}
inline void PutText(std::string* out, std::string_view text) {
  PutNumber(out, text.size());
  out->append(text);
}

/// After the first thing that does not fit `ok` is false, and everything read is empty.
struct ByteReader {
  std::string_view left;
  bool ok = true;

  std::string_view Take(uint64_t size) {
    ok = ok && size <= left.size();
    if (!ok) return {};
    const std::string_view taken = left.substr(0, size);
    left.remove_prefix(size);
    return taken;
  }
  uint64_t Number() {
    uint64_t n = 0;
    int shift = 0;
    for (const char c : Take(8)) {
      n |= static_cast<uint64_t>(static_cast<unsigned char>(c)) << shift;
      shift += 8;
    }
    return n;
  }
  std::string_view Text() { return Take(Number()); }
};

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_BYTES_H_

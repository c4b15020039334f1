// The kernel files of a library or program, as CMake's timcl_embed_kernels makes them.
#ifndef TIM_VX_KERNEL_SOURCES_H_
#define TIM_VX_KERNEL_SOURCES_H_

#include <cstddef>
#include <string_view>

namespace tim::vx {

/// One file of OpenCL C.
struct KernelSource {
  const char* name;  // of the file, without its folder: "cumsum.cl"
  const char* text;  // unchanged, ends with a zero byte
  size_t size;       // bytes, without that zero
};

/// Those of a plugin (timcl_add_op_plugin(... KERNELS ...)) are what KernelSpec::source and
/// #include lines name in the kernels that its functions make; the library's own files come behind
/// them. A program takes KernelSpec::source_text = kFiles.Find("mine.cl")->text.
class KernelSources {
 public:
  constexpr KernelSources() = default;
  template <size_t N>
  constexpr explicit KernelSources(const KernelSource (&list)[N]) : list_(list), size_(N) {}
  constexpr const KernelSource* begin() const { return list_; }
  constexpr const KernelSource* end() const { return list_ + size_; }
  /// Null where there is no file of that name.
  constexpr const KernelSource* Find(std::string_view name) const {
    for (const KernelSource& source : *this) {
      if (name == source.name) return &source;
    }
    return nullptr;
  }

 private:
  const KernelSource* list_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tim::vx
#endif  // TIM_VX_KERNEL_SOURCES_H_

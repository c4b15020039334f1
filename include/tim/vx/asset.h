// Assets: named blocks of bytes that come with a graph (tables, anchors, code of a vendor's op), in
// the form of LiteRT's custom-op assets.
#ifndef TIM_VX_ASSET_H_
#define TIM_VX_ASSET_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tim/vx/status.h"
#include "tim/vx/visibility.h"

namespace tim::vx {

struct AssetView {
  std::string_view name;  // by custom, the name of the op that it belongs to
  const std::byte* data = nullptr;
  size_t size = 0;  // bytes
};

/// What CompileOption::AddAsset named, read and constant. Views stay valid as long as a copy of the
/// table's shared pointer lives: whoever hands them on keeps one.
class TIMCL_API AssetTable {
 public:
  /// `owner` keeps the bytes. kAlreadyExists: there is one of that name.
  Status Add(std::string name, std::shared_ptr<const void> owner, const std::byte* data,
             size_t size);
  /// Reads a file. kIo with the reason of the system.
  Status AddFile(std::string name, const std::string& path);
  /// Null: there is none of that name.
  const AssetView* Find(std::string_view name) const;
  size_t size() const { return views_.size(); }
  /// In the order in which they were added.
  const AssetView& operator[](size_t i) const { return views_[i]; }
  auto begin() const { return views_.begin(); }
  auto end() const { return views_.end(); }

 private:
  std::vector<AssetView> views_;
  std::vector<std::shared_ptr<const void>> owners_;  // of names and bytes
};

}  // namespace tim::vx
#endif  // TIM_VX_ASSET_H_

// AssetTable: assets by name, and reading them from files.
#include "tim/vx/asset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace tim::vx {

Status AssetTable::Add(std::string name, std::shared_ptr<const void> owner, const std::byte* data,
                       size_t size) {
  if (name.empty()) return Status::Error(Code::kInvalidArgument, "an asset has no name");
  if (Find(name) != nullptr) {
    return Status::Error(Code::kAlreadyExists,
                         fmt::format("there is an asset named '{}' already", name));
  }
  struct Owned {
    std::string name;
    std::shared_ptr<const void> bytes;
  };
  auto owned = std::make_shared<Owned>(Owned{std::move(name), std::move(owner)});
  views_.push_back({owned->name, data, size});
  owners_.push_back(std::move(owned));
  return Status();
}

Status AssetTable::AddFile(std::string name, const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  auto bytes = std::make_shared<std::vector<char>>();
  if (file) bytes->assign(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) {
    return Status::Error(Code::kIo, fmt::format("asset '{}': '{}' cannot be read: {}", name, path,
                                                std::generic_category().message(errno)));
  }
  const auto* data = reinterpret_cast<const std::byte*>(bytes->data());
  const size_t size = bytes->size();
  return Add(std::move(name), std::move(bytes), data, size);
}

const AssetView* AssetTable::Find(std::string_view name) const {
  const auto it = std::find_if(views_.begin(), views_.end(),
                               [&](const AssetView& view) { return view.name == name; });
  return it == views_.end() ? nullptr : &*it;
}

}  // namespace tim::vx

// Attributes of operators. An op declares a plain struct once, with TIMCL_FIELDS; equality, hash,
// text form and the name -> value map (AttrMap) that delegates, plugins and binary graphs read are
// views of that declaration.
#ifndef TIM_VX_ATTRS_H_
#define TIM_VX_ATTRS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tim/vx/result.h"
#include "tim/vx/types.h"
#include "tim/vx/visibility.h"

namespace tim::vx {

using AttrValue = std::variant<std::monostate, bool, int64_t, double, std::string,
                               std::vector<int64_t>, std::vector<double>, std::vector<std::byte>>;

/// Attributes by name, in the order of their declaration. A value type.
class TIMCL_API AttrMap {
 public:
  using Entry = std::pair<std::string, AttrValue>;
  AttrMap() = default;
  AttrMap(std::initializer_list<Entry> entries) : entries_(entries) {}
  const AttrValue* Find(std::string_view name) const;
  /// One attribute as bool, number, string, enumeration or sequence of numbers. kNotFound: there is
  /// none of that name; kInvalidArgument: it is of another kind.
  template <class T>
  Status Get(std::string_view name, T* value) const;
  AttrMap& Set(std::string name, AttrValue value);
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  /// "axis=1, pads=[0,0,1,1]"; reads back with ParseAttrs.
  std::string ToText() const;
  bool operator==(const AttrMap& o) const { return entries_ == o.entries_; }

 private:
  std::vector<Entry> entries_;
};

/// Inverse of AttrMap::ToText. kInvalidArgument names the place.
TIMCL_API Result<AttrMap> ParseAttrs(std::string_view text);

/// What is generated from TIMCL_FIELDS for one struct.
struct AttrSchema {
  std::shared_ptr<const void> (*make_default)();
  /// Enumerators are given by name; one that has no name by its number.
  AttrMap (*to_map)(const void*);
  /// Starts from the defaults; an unknown name or a value of another kind is kInvalidArgument.
  Result<std::shared_ptr<const void>> (*from_map)(const AttrMap&);
  /// kInvalidArgument names an attribute whose enumerator does not exist.
  Status (*check)(const void*);
};

/// An immutable attribute struct of any op. Copies share it.
class AnyAttrs {
 public:
  AnyAttrs() = default;
  AnyAttrs(const AttrSchema* schema, std::shared_ptr<const void> data)
      : schema_(schema), data_(std::move(data)) {}
  const AttrSchema* schema() const { return schema_; }
  const void* data() const { return data_.get(); }
  AttrMap Map() const { return schema_ ? schema_->to_map(data_.get()) : AttrMap(); }
  /// The struct. Throws std::logic_error when it is another one; `who` is for the message.
  template <class A>
  const A& As(std::string_view who) const;
  /// The same attributes by another schema, through their names: two libraries that declare one op
  /// have a schema each.
  Result<AnyAttrs> By(const AttrSchema* schema) const {
    return schema == schema_ || schema == nullptr ? *this : From(schema, Map());
  }
  /// Attributes by name. kInvalidArgument for names and values that the schema does not know; null:
  /// it knows none.
  TIMCL_API static Result<AnyAttrs> From(const AttrSchema* schema, const AttrMap& map);

 private:
  const AttrSchema* schema_ = nullptr;
  std::shared_ptr<const void> data_;
};

/// One enumerator of an enumeration that occurs in attributes.
struct EnumName {
  template <class E>
  constexpr EnumName(E e, const char* n) : value(static_cast<int64_t>(e)), name(n) {}
  int64_t value;
  const char* name;
};
struct EnumList {
  const EnumName* names;
  size_t count;
  constexpr const EnumName* begin() const { return names; }
  constexpr const EnumName* end() const { return names + count; }
};

namespace attrs_detail {

// Every enumeration of attributes names its enumerators with TIMCL_ENUM; found by type.
template <class E>
EnumList NamesOfEnum() {
  return TimclEnumNames(E{});
}
TIMCL_API const char* EnumeratorName(EnumList list, int64_t value);
TIMCL_API bool EnumeratorValue(EnumList list, std::string_view name, int64_t* value);
/// "one of MAX AVG L2".
TIMCL_API std::string EnumChoices(EnumList list);

template <class T>
struct IsSequence : std::false_type {};
template <class T>
struct IsSequence<std::vector<T>> : std::true_type {};
template <class T, size_t N>
struct IsSequence<std::array<T, N>> : std::true_type {};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
AttrValue ToValue(const T& v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v;
  } else if constexpr (std::is_enum_v<T>) {
    const char* name = EnumeratorName(NamesOfEnum<T>(), static_cast<int64_t>(v));
    if (name != nullptr) return std::string(name);
    return static_cast<int64_t>(v);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(v);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(v);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return v;
  } else {
    static_assert(IsSequence<T>::value, "unsupported type of attribute");
    using E = typename T::value_type;
    if constexpr (std::is_floating_point_v<E>) {
      return std::vector<double>(v.begin(), v.end());
    } else {
      std::vector<int64_t> out;
      for (const auto& e : v) out.push_back(static_cast<int64_t>(e));
      return out;
    }
  }
}

template <class To, class From>
bool FitsInto(From v) {
  if constexpr (std::is_integral_v<To>) {
    const To t = static_cast<To>(v);
    return static_cast<From>(t) == v && (t < To{}) == (v < From{});
  } else {
    return true;
  }
}

template <class T>
bool FromValue(const AttrValue& v, T* out) {
  if constexpr (std::is_same_v<T, bool>) {
    if (auto* b = std::get_if<bool>(&v)) return *out = *b, true;
    if (auto* i = std::get_if<int64_t>(&v)) return *out = *i != 0, true;
    return false;
  } else if constexpr (std::is_enum_v<T>) {
    int64_t value = 0;
    if (auto* s = std::get_if<std::string>(&v)) {
      if (!EnumeratorValue(NamesOfEnum<T>(), *s, &value)) return false;
    } else if (auto* i = std::get_if<int64_t>(&v);
               i && EnumeratorName(NamesOfEnum<T>(), *i) != nullptr) {
      value = *i;
    } else {
      return false;
    }
    return *out = static_cast<T>(value), true;
  } else if constexpr (std::is_integral_v<T>) {
    if (auto* i = std::get_if<int64_t>(&v); i && FitsInto<T>(*i))
      return *out = static_cast<T>(*i), true;
    return false;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (auto* d = std::get_if<double>(&v)) return *out = static_cast<T>(*d), true;
    if (auto* i = std::get_if<int64_t>(&v)) return *out = static_cast<T>(*i), true;
    return false;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (auto* s = std::get_if<std::string>(&v)) return *out = *s, true;
    return false;
  } else {
    auto fill = [&](const auto& from) {
      using E = typename T::value_type;
      if constexpr (IsVector<T>::value) {
        out->resize(from.size());
      } else if (from.size() != out->size()) {
        return false;
      }
      for (size_t i = 0; i < from.size(); ++i) {
        if (!FitsInto<E>(from[i])) return false;
        (*out)[i] = static_cast<E>(from[i]);
      }
      return true;
    };
    if (auto* i = std::get_if<std::vector<int64_t>>(&v)) return fill(*i);
    if constexpr (std::is_floating_point_v<typename T::value_type>) {
      if (auto* d = std::get_if<std::vector<double>>(&v)) return fill(*d);
    }
    return false;
  }
}

TIMCL_API Status NoAttribute(std::string_view name, const AttrMap& map);
TIMCL_API Status WrongKind(std::string_view name, const AttrMap& map);

/// Splits "axis, exclusive" at commas; the text comes from the preprocessor.
TIMCL_API std::vector<std::string> SplitNames(const char* text);

template <class A>
AttrMap ToMap(const void* data) {
  AttrMap map;
  const auto names = SplitNames(A::FieldNames());
  size_t i = 0;
  std::apply([&](const auto&... f) { (map.Set(names[i++], ToValue(f)), ...); },
             static_cast<const A*>(data)->Fields());
  return map;
}

template <class A>
Result<std::shared_ptr<const void>> FromMap(const AttrMap& map) {
  auto out = std::make_shared<A>();
  const auto names = SplitNames(A::FieldNames());
  size_t used = 0, i = 0;
  std::string bad;
  std::apply(
      [&](auto&... f) {
        [[maybe_unused]] auto one = [&](auto& field) {
          const std::string& name = names[i++];
          const AttrValue* v = map.Find(name);
          if (v == nullptr) return;
          ++used;
          if (FromValue(*v, &field)) return;
          bad = "attribute '" + name + "' has a value of the wrong kind or size";
          using Field = std::remove_reference_t<decltype(field)>;
          if constexpr (std::is_enum_v<Field>) {
            bad = "attribute '" + name + "' must be " + EnumChoices(NamesOfEnum<Field>());
          }
        };
        (one(f), ...);
      },
      out->Fields());
  if (!bad.empty()) {
    return Status::Error(Code::kInvalidArgument, bad);
  }
  if (used != map.size()) {
    for (const auto& [name, value] : map) {
      bool known = false;
      for (const auto& n : names) known = known || n == name;
      if (!known) {
        return Status::Error(Code::kInvalidArgument, "unknown attribute '" + name + "' (known: " +
                                                         std::string(A::FieldNames()) + ")");
      }
    }
  }
  return std::shared_ptr<const void>(std::move(out));
}

template <class A>
Status Check(const void* data) {
  const auto names = SplitNames(A::FieldNames());
  size_t i = 0;
  Status status;
  std::apply(
      [&](const auto&... f) {
        [[maybe_unused]] auto one = [&](const auto& field) {
          const std::string& name = names[i++];
          using Field = std::remove_cv_t<std::remove_reference_t<decltype(field)>>;
          if constexpr (std::is_enum_v<Field>) {
            const EnumList list = NamesOfEnum<Field>();
            const int64_t value = static_cast<int64_t>(field);
            if (status.ok() && EnumeratorName(list, value) == nullptr) {
              status = Status::Error(Code::kInvalidArgument,
                                     "attribute '" + name + "' is " + std::to_string(value) +
                                         ", but must be " + EnumChoices(list));
            }
          }
        };
        (one(f), ...);
      },
      static_cast<const A*>(data)->Fields());
  return status;
}

}  // namespace attrs_detail

template <class T>
Status AttrMap::Get(std::string_view name, T* value) const {
  const AttrValue* found = Find(name);
  if (found == nullptr) return attrs_detail::NoAttribute(name, *this);
  T read{};
  if (!attrs_detail::FromValue(*found, &read)) return attrs_detail::WrongKind(name, *this);
  *value = std::move(read);
  return Status();
}

template <class A>
inline constexpr AttrSchema kAttrSchema = {
    +[]() -> std::shared_ptr<const void> { return std::make_shared<A>(); },
    &attrs_detail::ToMap<A>,
    &attrs_detail::FromMap<A>,
    &attrs_detail::Check<A>,
};

template <class A>
const A& AnyAttrs::As(std::string_view who) const {
  if (schema_ != &kAttrSchema<A>) {
    throw std::logic_error(std::string(who) + ": attributes (" + Map().ToText() +
                           ") are read as another struct, of " + A::FieldNames());
  }
  return *static_cast<const A*>(data_.get());
}

template <class A>
AnyAttrs MakeAttrs(A attrs) {
  return AnyAttrs(&kAttrSchema<A>, std::make_shared<A>(std::move(attrs)));
}

}  // namespace tim::vx

/// Names the members of an attribute struct, once, in the order of the text form.
#define TIMCL_FIELDS(...)                                            \
  static constexpr const char* FieldNames() { return #__VA_ARGS__; } \
  auto Fields() { return std::tie(__VA_ARGS__); }                    \
  auto Fields() const { return std::tie(__VA_ARGS__); }

/// Names the enumerators of an enumeration that occurs in attributes, in the enumeration's own
/// namespace: TIMCL_ENUM(PoolType, {PoolType::MAX, "MAX"}, {PoolType::AVG, "AVG"}).
#define TIMCL_ENUM(Type, ...)                                      \
  inline ::tim::vx::EnumList TimclEnumNames(Type) {                \
    static constexpr ::tim::vx::EnumName kNames[] = {__VA_ARGS__}; \
    return {kNames, sizeof kNames / sizeof kNames[0]};             \
  }                                                                \
  static_assert(true, "takes the semicolon")

namespace tim::vx {
TIMCL_ENUM(PadType, {PadType::NONE, "NONE"}, {PadType::AUTO, "AUTO"}, {PadType::VALID, "VALID"},
           {PadType::SAME, "SAME"});
TIMCL_ENUM(PoolType, {PoolType::MAX, "MAX"}, {PoolType::AVG, "AVG"}, {PoolType::L2, "L2"},
           {PoolType::AVG_ANDROID, "AVG_ANDROID"});
TIMCL_ENUM(RoundType, {RoundType::CEILING, "CEILING"}, {RoundType::FLOOR, "FLOOR"});
TIMCL_ENUM(ResizeType, {ResizeType::NEAREST_NEIGHBOR, "NEAREST_NEIGHBOR"},
           {ResizeType::BILINEAR, "BILINEAR"}, {ResizeType::AREA, "AREA"});
TIMCL_ENUM(DataLayout, {DataLayout::ANY, "ANY"}, {DataLayout::WHCN, "WHCN"},
           {DataLayout::CWHN, "CWHN"}, {DataLayout::IcWHOc, "IcWHOc"},
           {DataLayout::OcIcWH, "OcIcWH"}, {DataLayout::IcOcWH, "IcOcWH"},
           {DataLayout::WHIcOc, "WHIcOc"}, {DataLayout::WCN, "WCN"}, {DataLayout::WIcOc, "WIcOc"},
           {DataLayout::WHDCN, "WHDCN"}, {DataLayout::WHDIcOc, "WHDIcOc"},
           {DataLayout::CWHDN, "CWHDN"}, {DataLayout::OcIcWHD, "OcIcWHD"});
TIMCL_ENUM(DataType, {DataType::UNKNOWN, "UNKNOWN"}, {DataType::INT8, "INT8"},
           {DataType::UINT8, "UINT8"}, {DataType::INT16, "INT16"}, {DataType::UINT16, "UINT16"},
           {DataType::INT32, "INT32"}, {DataType::UINT32, "UINT32"}, {DataType::INT64, "INT64"},
           {DataType::FLOAT16, "FLOAT16"}, {DataType::FLOAT32, "FLOAT32"},
           {DataType::BOOL8, "BOOL8"}, {DataType::INT4, "INT4"}, {DataType::UINT4, "UINT4"});
}  // namespace tim::vx

#endif  // TIM_VX_ATTRS_H_

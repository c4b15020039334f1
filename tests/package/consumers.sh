#!/bin/sh
# Builds and runs programs against an installed library, in one of the ways of README's section "Use it in your program",
# from where the lines are taken:
#   consumers.sh <prefix> <folder to work in> <way>...
# LIBDIR: where libraries are below the prefix, "lib" if not told. CXX, CXXFLAGS, CMAKE_GENERATOR and
# CMAKE_CXX_COMPILER_LAUNCHER as usual. Sees nothing of the build that was installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PREFIX=$(cd "$1" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
libraries=$PREFIX/${LIBDIR:=lib}
export PREFIX
export PKG_CONFIG_PATH="$libraries/pkgconfig"

# listing <page> <section> <language> <n>: the n-th listing of that language in the section, in the file "listing".
listing() {
  awk -v section="## $2" -v language="$3" -v wanted="$4" '
    /^## / { inside = $0 == section }
    /^```/ { listing = inside && $0 == "```" language && ++n == wanted; next }
    listing { print; found = 1 }
    END { exit !found }' "$here/../../$1" >listing || fail "$1 has no listing $4 of $3 in '$2'"
}
# readme <language> <n>: the same of README's section.
readme() {
  listing README.md "Use it in your program" "$1" "$2"
  sed "s|PREFIX/lib|PREFIX/$LIBDIR|g" listing
}
fail() {
  echo "$way: $*" >&2
  exit 1
}
# The compiler of README's lines is c++.
use_compiler() {
  mkdir bin
  printf "#!/bin/sh\nexec %s \"\$@\"\n" "${CMAKE_CXX_COMPILER_LAUNCHER:-} ${CXX:-g++} ${CXXFLAGS:-}" >bin/c++
  chmod +x bin/c++
  PATH=$PWD/bin:$PATH
}
# project: standard input is the rest of a CMakeLists.txt; builds it.
project() {
  {
    echo 'cmake_minimum_required(VERSION 3.16)'
    echo 'project(app LANGUAGES CXX)'
    cat
  } >CMakeLists.txt
  PATH=$system_path cmake -S . -B build -D CMAKE_PREFIX_PATH="$PREFIX" >configure.log || { cat configure.log; fail cmake; }
  PATH=$system_path cmake --build build
}

# The first program that README shows.
way_readme() {
  awk '/^```/ { listing = $0 == "```cpp"; if (n++) exit; next } listing' "$here/../../README.md" >listing
  {
    echo '#include <iostream>'
    grep '^#include' listing
    echo 'int main() {'
    grep -v '^#include' listing
    echo 'return data[0] == 0 && data[1] < -0.3f && data[2] > 0.6f && data[3] == 4 ? 0 : 1; }'
  } >main.cc
  readme sh 3 >line
  . ./line
  ./app | grep -q HardSwish || fail "the report does not tell of HardSwish"
  ./app >/dev/null
}

way_timcl() {
  cp "$here/consumers/modern.cc" main.cc
  { readme cmake 1; cat <<'END'
if(NOT IS_DIRECTORY "${timcl_PLUGIN_DIR}" OR NOT timcl_VERSION VERSION_GREATER_EQUAL 1.0)
  message(FATAL_ERROR "'${timcl_PLUGIN_DIR}' is no folder, or '${timcl_VERSION}' no version")
endif()
END
  } | project
  build/app
}

# The delegate's target, and the variable that gives it to a program that knows nothing of it.
way_onednn() {
  cp "$here/consumers/onednn.cc" main.cc
  sed '/delegates.onednn/d; /SetDelegate/d' main.cc >knows_nothing.cc
  project <"$here/consumers/onednn.cmake"
  build/app | grep -q "^onednn$" || fail "the program's delegate does not run its op"
  build/knows_nothing | grep -q "^reference$" || fail "the op runs elsewhere than on the reference"
  TIMCL_DELEGATE=onednn build/knows_nothing | grep -q "^onednn$" || fail "TIMCL_DELEGATE counts for nothing"
}

way_tim_vx() {
  cp "$here/consumers/original.cc" main.cc
  { readme cmake 2; cat <<END
set_target_properties(app PROPERTIES CXX_STANDARD 11 CXX_EXTENSIONS OFF)
find_package(tim-vx 1.1 REQUIRED)  # a version of the original, and a second time
find_package(timcl REQUIRED)
find_package(timcl 2 QUIET)
if(timcl_FOUND)
  message(FATAL_ERROR "version 1 is taken for version 2")
endif()
add_executable(features_first $here/consumers/features_first.cc)
target_link_libraries(features_first PRIVATE tim-vx::tim-vx)
# What the original's samples write, and what they mean.
add_executable(open main.cc)
target_link_libraries(open PRIVATE -Wl,--whole-archive tim-vx)
add_executable(closed main.cc)
target_link_libraries(closed PRIVATE -Wl,--whole-archive tim-vx -Wl,--no-whole-archive)
END
  } | project
  build/app
  build/features_first
  build/open
  build/closed
}

way_pkg_config() {
  cp "$here/consumers/modern.cc" main.cc
  readme sh 2 >line
  . ./line
  ./app
  c++ -std=c++11 "$here/consumers/features_first.cc" $(pkg-config --cflags --libs tim-vx) -Wl,-rpath,"$libraries" -o first
  ./first
  [ -d "$(pkg-config --variable=plugindir timcl)" ] || fail "plugindir is no folder"
}

way_plain() {
  cp "$here/consumers/original.cc" main.cc
  readme sh 3 >line
  . ./line
  ./app
}

way_find_library() {
  project <<END
find_library(TIM_VX tim-vx PATHS $PREFIX/lib NO_DEFAULT_PATH REQUIRED)
add_executable(app $here/consumers/original.cc)
target_include_directories(app PRIVATE $PREFIX/include)
target_link_libraries(app PRIVATE \${TIM_VX})
END
  build/app
}

way_op_header_alone() {
  c++ -std=c++11 "$here/consumers/transitive.cc" -I"$PREFIX/include" -L"$libraries" -ltim-vx \
    -Wl,-rpath,"$libraries" -o app
  ./app
}

# Not as system headers, whose warnings compilers keep to themselves.
way_warnings() {
  flags="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wdouble-promotion -Wshadow -Werror"
  c++ -std=c++11 $flags -fsyntax-only -I"$PREFIX/include" "$here/consumers/original.cc"
  c++ -std=c++20 $flags -fsyntax-only -I"$PREFIX/include" "$here/consumers/original.cc"
  c++ -std=c++20 $flags -fsyntax-only -I"$PREFIX/include" "$here/consumers/modern.cc"
}

way_dlopen() {
  c++ -std=c++17 -shared -fPIC "$here/consumers/plugin.cc" -I"$PREFIX/include" -L"$libraries" -ltimcl \
    -Wl,-rpath,"$libraries" -o plugin.so
  c++ -std=c++17 "$here/consumers/opens_plugin.cc" -ldl -o opens_plugin
  ./opens_plugin ./plugin.so
}

# An author's project: a plugin and a program that finds it, first where it was built, then installed beside the library.
way_plugin() {
  PATH=$system_path cmake -S "$here/plugin" -B build -D CMAKE_PREFIX_PATH="$PREFIX" >configure.log || { cat configure.log; fail cmake; }
  PATH=$system_path cmake --build build
  build/app build >report
  grep -q acme.softcap report || fail "the report does not tell of acme.softcap"
  if TIMCL_PLUGIN_PATH= build/app 2>log; then fail "the operator is known without its plugin"; fi
  grep -q "no operator of that name" log || fail "$(cat log)"
  [ "$(nm -D --defined-only build/libtimcl_acme_softcap.so | awk '{print $3}')" = timcl_plugin_query ] ||
    fail "the plugin shows more than its one symbol"
  build/check build/libtimcl_acme_peak.so >report || fail "the cases of acme.peak: $(cat report)"
  grep -qx "acme.peak: good" report || fail "$(cat report)"
  cmake --install build >install.log
  build/app >/dev/null
  if [ -e "$PREFIX/bin/timcl" ]; then
    "$PREFIX/bin/timcl" info >info
    grep -q "acme.softcap(cap=30.0)" info || fail "timcl info: $(cat info)"
    readelf -d "$libraries/timcl/plugins/libtimcl_acme_softcap.so" | grep -qF '[$ORIGIN/../..]' || fail "it would not find the library"
  fi
  rm "$libraries/timcl/plugins/libtimcl_acme_softcap.so"
}

# A folder of custom_ops, copied out of the tree: built by itself and installed, by the commands of the tutorial, and used by
# name; then as a part of a program.
way_custom_op() {
  cp -r "$here/custom_op" app
  cp -r "$here/../../custom_ops/rms_norm" app
  PATH=$system_path cmake -S app -B build -D CMAKE_PREFIX_PATH="$PREFIX" >configure.log || { cat configure.log; fail cmake; }
  PATH=$system_path cmake --build build --target app by_name
  if build/by_name 2>log; then fail "the operator is known before its plugin is installed"; fi
  grep -q "no operator of that name" log || fail "$(cat log)"

  mkdir custom_ops
  mv app/rms_norm custom_ops
  listing custom_ops/README.md "5. Packaged" sh 1
  (PATH=$system_path && . ./listing) >packaged.log || { cat packaged.log; fail "the commands of the page"; }
  plugin=$libraries/timcl/plugins/libtimcl_custom_rms_norm_plugin.so
  [ -e "$plugin" ] || fail "$(cat packaged.log)"
  build/by_name || fail by_name
  if [ -e "$PREFIX/bin/timcl" ]; then
    "$PREFIX/bin/timcl" info >info
    grep -qF "custom_ops.rms_norm(epsilon=" info || fail "timcl info: $(cat info)"
  fi
  rm "$plugin"
  build/app >profile || fail app
  grep -q "custom_ops.rms_norm#1 .* rms_norm " profile || fail "the profile: $(cat profile)"
}

# samples/vendor, copied out of the tree: a compiler and a dispatcher that are linked with nothing of ours, in one library and in
# two, and a program that loads them.
way_vendor() {
  cp -r "$here/../../samples/vendor" vendor
  PATH=$system_path cmake -S vendor -B build -D CMAKE_PREFIX_PATH="$PREFIX" >configure.log || { cat configure.log; fail cmake; }
  PATH=$system_path cmake --build build
  for plugins in "" build/halves build/halves/libtimcl_acme_dispatcher.so "--model A50"; do
    build/vendor $plugins >report || fail "vendor $plugins: $(cat report)"
  done
  for plugin in build/whole/libtimcl_acme.so build/halves/libtimcl_acme_*.so; do
    [ "$(nm -D --defined-only $plugin | awk '{print $3}')" = timcl_plugin_query ] || fail "$plugin shows more than its one symbol"
    ! readelf -d $plugin | grep -q "NEEDED.*timcl" || fail "$plugin is linked with the library"
  done
  cmake --install build >install.log
  plugin=$libraries/timcl/plugins/libtimcl_acme.so
  [ -e "$plugin" ] || fail "$(cat install.log)"
  if [ -e "$PREFIX/bin/timcl" ]; then
    "$PREFIX/bin/timcl" info >info
    grep -q "acme 1.0.0.*Acme" info || fail "timcl info: $(cat info)"
  fi
  rm "$plugin"

  # A plugin in C, of a project that knows no other language.
  mkdir in_c
  cp "$here/../plugins/made/in_c.c" in_c
  cat >in_c/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(in_c LANGUAGES C)
find_package(timcl 1.0 REQUIRED)
timcl_add_plugin(in_c SOURCES in_c.c)
END
  PATH=$system_path cmake -S in_c -B in_c/build -D CMAKE_PREFIX_PATH="$PREFIX" >configure.log || { cat configure.log; fail "cmake, in C"; }
  PATH=$system_path cmake --build in_c/build
  nm -D --defined-only in_c/build/libtimcl_in_c.so | grep -q timcl_plugin_query || fail "the plugin in C shows nothing"
}

# "half.hpp" is the installed half library, or the program's own, or an error that says so.
way_half() {
  mkdir -p system/half own/third_party/half
  echo 'int installed;' >system/half/half.hpp
  echo 'int own;' | tee own/half.hpp >own/third_party/half/half.hpp
  compat=-I"$PREFIX/include/timcl/compat"
  for name in half.hpp third_party/half/half.hpp; do
    preprocess() { echo "#include \"$name\"" | c++ -std=c++11 -Wpedantic -Werror -E "$@" -x c++ - 2>&1; }
    preprocess $compat -Isystem | grep -q installed || fail "$name does not find the installed half library"
    preprocess $compat -Isystem -Iown | grep -q own || fail "$name hides the program's own"
    preprocess -Iown $compat -Isystem | grep -q own || fail "$name hides the program's own"
  done
  if echo '#include <half/half.hpp>' | c++ -E -o /dev/null -x c++ - 2>/dev/null; then
    echo "half: what is said where it is missing is not tested, as it is installed here"
  else
    preprocess $compat | grep -q "libhalf-dev" || fail "without the half library there is no word of it"
  fi
}

# The tree knows neither its own place nor that of the build, and needs nothing else of the build.
way_tree() {
  for place in ${NOT_IN_THE_TREE:-}; do
    found=$(grep -rIlF "$place" "$PREFIX/include/tim" "$libraries/cmake" "$PKG_CONFIG_PATH" || true)
    [ -z "$found" ] || fail "$place is in $found"
  done
  for file in "$libraries/libtimcl.so.1" "$PREFIX/bin/timcl"; do
    [ ! -e "$file" ] || ! readelf -d "$file" | grep -E 'R(UN)?PATH' || fail "$file has a search path"
  done
  [ "$(readlink "$libraries/libtim-vx.so")" = libtimcl.so ] || fail "libtim-vx.so is not libtimcl.so"
  [ ! -e "$PREFIX/bin/timcl" ] || "$PREFIX/bin/timcl" ops | grep -q CumSum || fail "the command does not list operators"
}

system_path=$PATH
for way in "$@"; do
  rm -rf "$folder/$way"
  mkdir "$folder/$way"
  cd "$folder/$way"
  PATH=$system_path
  use_compiler
  "way_$way"
  echo "$way: fine"
done

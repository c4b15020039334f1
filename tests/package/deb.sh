#!/usr/bin/env bash
# Makes the Debian packages, installs them in a bare Debian system, and builds and runs programs there. By hand and as root: it
# needs the network and takes minutes.
#   tests/package/deb.sh [<folder with a Debian root>]    default: build/debroot, made by debootstrap and kept
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=${1:-build/debroot}

echo "deb: make the packages"
rm -f build/package/*.deb
cmake --workflow --preset package
for package in build/package/*.deb; do
  printf '\n== %s\n' "$package"
  dpkg-deb --field "$package" Package Version Architecture Depends Recommends Suggests
  dpkg-deb --contents "$package" | awk '$6 !~ /include.tim.vx/ {print $1, $6, $7, $8}'
done

if [[ ! -d $root/usr ]]; then
  echo "deb: make $root"
  debootstrap --variant=minbase "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$root" http://deb.debian.org/debian
fi
there=/tmp/timcl
rm -rf "${root:?}$there"
mkdir -p "$root$there/tests"
cp build/package/*.deb README.md "$root$there"
cp -r tests/package "$root$there/tests"

# inside <command>...: runs it in the root; what is mounted for it goes with it.
inside() {
  unshare --mount --pid --fork sh -ec '
    root=$1; shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"  # PoCL wants to know the machine
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
  ' sh "$root" "$@"
}
get() { inside apt-get install -q -y --no-install-recommends "$@"; }
deb() { (cd "$root" && echo ".$there/$1"_*.deb) | sed 's/^.//'; }

echo "deb: the command and the library, with what they depend on and nothing else"
inside apt-get update -q
inside dpkg --purge libtimcl-dev timcl-tools libtimcl1  # of a run that stopped
get "$(deb libtimcl1)" "$(deb timcl-tools)"
inside sh -ec 'ldd /usr/lib/*/libtimcl.so.1 /usr/bin/timcl >/tmp/ldd; cat /tmp/ldd; ! grep "not found" /tmp/ldd'
inside sh -c 'ldconfig -p | grep libtimcl.so.1'
inside timcl ops | grep -c '^[A-Z]'

echo "deb: the headers, a compiler, and an OpenCL device"
get "$(deb libtimcl-dev)" g++ make cmake pkg-config pocl-opencl-icd
inside timcl devices
inside env CXX=g++ LIBDIR="lib/$(gcc -print-multiarch)" sh $there/tests/package/consumers.sh /usr /tmp/timcl/work \
  readme timcl tim_vx pkg_config plain op_header_alone warnings dlopen half
# Folders that every compiler looks into are not named: that would change their order.
inside sh -ec 'pkg-config --cflags --libs timcl >/tmp/flags; cat /tmp/flags; ! grep -E -e "(-I/usr/include|-L/usr/lib[^ ]*) " /tmp/flags'

echo "deb: remove them"
inside apt-get purge -q -y libtimcl1 libtimcl-dev timcl-tools
left=$(inside find /usr /etc /var/lib/dpkg/info -name '*timcl*' -o -name '*tim-vx*')
[[ -z $left ]] || { echo "deb: left behind: $left"; exit 1; }
echo "deb: all is well"

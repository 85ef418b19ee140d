# Debian packages for the guest, fetched and unpacked here, never installed.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

GUEST_PACKAGES='perftest ibverbs-providers ibverbs-utils rdmacm-utils iproute2 busybox-static dash qperf'

# The guest's apt: its own cache and, because nothing is installed there, an empty list of
# installed packages. By default it sees the package lists of this machine; with another suite it
# has its own lists, from the mirror and with the keys that this machine uses.
prepare_apt() {
  local home=$1 mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  mkdir -p "$home"/{lists/partial,cache/archives/partial}
  : >"$home/status"
  guest_apt=(-qq -o "Dir::State::status=$home/status" -o "Dir::Cache=$home/cache"
    -o APT::Sandbox::User=root)
  [[ $suite == host ]] && return
  # shellcheck disable=SC2016 # apt expands it
  mirror=$(apt-get indextargets 'Created-By: Packages' --format '$(REPO_URI)' | grep '/debian/$' | head -1)
  [[ -n $mirror && -r $keyring ]] || skip "no Debian mirror or keys here for suite $suite"
  echo "deb [signed-by=$keyring] $mirror $suite main" >"$home/sources.list"
  guest_apt+=(-o "Dir::Etc::sourcelist=$home/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$home/lists")
  apt-get "${guest_apt[@]}" update >"$cache/apt.log" 2>&1 || skip "no package lists of $suite"
}

# Unpacks one package over another tree. The links of the merged /usr, made beforehand, stay.
unpack_package() { dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"; }

# Makes $1 a tree with the guest's packages and all they depend on.
make_tree() {
  local tree=$1 home=$2 package
  apt_quietly "${guest_apt[@]}" install -y --download-only --no-install-recommends \
    $GUEST_PACKAGES || return 1
  mkdir -p "$tree"/usr/{bin,sbin,lib,lib64}
  ln -s usr/bin usr/sbin usr/lib usr/lib64 "$tree"
  for package in "$home"/cache/archives/*.deb; do
    unpack_package "$package" "$tree" || return 1
  done
}

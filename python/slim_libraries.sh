#!/usr/bin/env bash
# slim_libraries.sh PREFIX: builds libcurl and libarchive as static libraries into PREFIX, from the sources of
# this Debian: curl with HTTP and OpenSSL alone, libarchive with tar, zip and gzip alone. Debian's own bring
# 30 other libraries along, 20 MB of a wheel. Says nothing when they are there. Needs dpkg-dev.
set -euo pipefail
# shellcheck source=cmake/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
prefix=$(mkdir -p "$1" && cd "$1" && pwd)
[ ! -e "$prefix/done" ] || exit 0
install_packages dpkg-dev cmake ninja-build

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Lists of sources, kept apart from those of the machine; from its own mirror.
# shellcheck disable=SC2016  # apt's own placeholders
apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u |
  sed 's|^|deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] |' >"$work/sources.list"
mkdir -p "$work/lists/partial"
options=(-o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o Dir::State::Lists="$work/lists" -o APT::Sandbox::User=root)

fetch() {
  cd "$work"
  quietly apt-get -qq "${options[@]}" update
  quietly apt-get -qq "${options[@]}" source curl libarchive
}

# install_static SOURCE TARGET [CMAKE OPTION...]
install_static() {
  local source=$1 target=$2
  shift 2
  quietly cmake -S "$source" -B "$work/$target" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF "$@"
  quietly ninja -C "$work/$target" "$target"
}

say "building curl and libarchive into $prefix"
(fetch)
# Certificates are those of the system's OpenSSL, or of SSL_CERT_FILE.
install_static "$work"/curl-*/ libcurl -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF -DENABLE_MANUAL=OFF \
  -DHTTP_ONLY=ON -DCURL_USE_OPENSSL=ON -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none -DCURL_CA_FALLBACK=ON \
  -DCURL_{ZLIB,BROTLI,ZSTD,USE_LIBPSL,USE_LIBSSH2,USE_GSSAPI}=OFF -DUSE_{NGHTTP2,LIBIDN2,LIBRTMP}=OFF
quietly cmake --install "$work/libcurl"
# arc4random_buf came with glibc 2.36; libarchive has its own under that name.
sed -i 's|^static void arc4random_buf|#define arc4random_buf archive_random_buf\n&|' "$work"/libarchive-*/libarchive/archive_random.c
install_static "$work"/libarchive-*/ archive_static -DENABLE_{TEST,TAR,CPIO,CAT,UNZIP}=OFF \
  -DENABLE_{OPENSSL,NETTLE,MBEDTLS,LIBXML2,EXPAT,LZMA,ZSTD,LZ4,LZO,LIBB2,BZip2,ACL,XATTR,PCREPOSIX,PCRE2POSIX,ICONV}=OFF -DHAVE_ARC4RANDOM_BUF=OFF
cp "$work/archive_static/libarchive/libarchive.a" "$prefix/lib/"
cp "$work"/libarchive-*/libarchive/{archive,archive_entry}.h "$prefix/include/"
mkdir -p "$prefix/licences"
for name in curl libarchive; do cp "$work/$name"-*/debian/copyright "$prefix/licences/$name"; done
touch "$prefix/done"

#!/usr/bin/env bash
# collect.sh cpu|cuda INSTALL LIBTORCH OUT: what the runtime image needs of a build.
#   cpu:  OUT/packages, the Debian packages of the shared libraries that the program is linked to;
#         OUT/libtorch, those of LibTorch's files that it is linked to.
#   cuda: OUT/libtorch, what the CUDA half needs besides.
# Every library lies in exactly one of the two trees.
set -euo pipefail
kind=$1 install=$2 torch=$3 out=$4
program=("$install/usr/local/bin/stoker" "$install/usr/local/lib/libstoker.so")

# Absolute paths of all libraries that the given files need. A library that is not found is an error,
# but for the driver's, which the host brings.
libraries() {
  local lines
  lines=$(ldd "$@")
  if grep 'not found' <<<"$lines" | grep -v 'libcuda\.so\.1'; then
    echo "collect.sh: libraries are missing (above)" >&2
    exit 1
  fi
  sed -n 's/.* => \(\/[^ ]*\) (.*/\1/p' <<<"$lines" | xargs -n 1 realpath -m -s | sort -u
}

below_torch() { grep "^$torch/" || true; }

licences() { find "$torch" -ipath '*.dist-info/*license*' -type f; }

copy() {  # of the paths on standard input
  mkdir -p "$out/libtorch"
  sed "s|^$torch/||" | (cd "$torch" && xargs -r cp --parents -t "$out/libtorch")
  chmod -R a=rX,u+w "$out/libtorch"
}

# dpkg knows a library by /lib or by /usr/lib, whichever its package was built with.
packages() {
  local path
  while read -r path; do
    path=$(realpath "$path")
    dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "${path#/usr}"
  done | cut -d: -f1 | sort -u
}

# What no library is linked to: opened by name when it is first needed. cuDNN's engines and front
# ends, linear algebra, run-time compilation with its built-in headers.
opened_by_name() {
  local pattern
  for pattern in torch/lib/libtorch_cuda.so torch/lib/libtorch_cuda_linalg.so \
    torch/lib/libcaffe2_nvrtc.so 'nvidia/cudnn/lib/libcudnn*.so.*' \
    'nvidia/cu13/lib/libnvrtc.so.*' 'nvidia/cu13/lib/libnvrtc-builtins.so.*'; do
    compgen -G "$torch/$pattern" || {
      echo "collect.sh: no $pattern in $torch" >&2
      exit 1
    }
  done
}

rm -rf "$out"
mkdir -p "$out"
case $kind in
  cpu)
    libraries "${program[@]}" | grep -v -e "^$torch/" -e "^$install/" | packages >"$out/packages"
    {
      libraries "${program[@]}" | below_torch
      licences
    } | sort -u | copy
    ;;
  cuda)
    mapfile -t opened < <(opened_by_name)
    {
      printf '%s\n' "${opened[@]}"
      libraries "${opened[@]}" | below_torch
      licences
    } | sort -u | comm -23 - <(libraries "${program[@]}" | below_torch) | copy
    ;;
  *)
    echo "collect.sh: '$kind': expected cpu or cuda" >&2
    exit 2
    ;;
esac

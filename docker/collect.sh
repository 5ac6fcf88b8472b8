#!/usr/bin/env bash
# What the runtime images need of a build. Every library lies in exactly one of the two trees.
# collect.sh cpu INSTALL LIBTORCH OUT
#   OUT/packages   the Debian packages of the shared libraries that the program, its libraries, plug-ins and tools
#                  are linked to; OUT/opencv-packages: those of its plug-in stoker_opencv
#   OUT/libraries  the paths of those of LibTorch's libraries that they are linked to
#   OUT/libtorch   these, and the licences
# collect.sh cuda LIBRARIES LIBTORCH OUT
#   OUT/libtorch   what the CUDA half needs besides LIBRARIES, the file that `cpu` wrote
set -euo pipefail
kind=$1 from=$2 torch=$3 out=$4

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
# ends, linear algebra, run-time compilation with its built-in headers, nvJPEG.
opened_by_name() {
  local pattern
  for pattern in torch/lib/libtorch_cuda.so torch/lib/libtorch_cuda_linalg.so \
    torch/lib/libcaffe2_nvrtc.so 'nvidia/cudnn/lib/libcudnn*.so.*' \
    'nvidia/cu13/lib/libnvrtc.so.*' 'nvidia/cu13/lib/libnvrtc-builtins.so.*' 'nvidia/cu13/lib/libnvjpeg.so.*'; do
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
    opencv=$from/usr/local/lib/stoker/stoker_opencv.so
    # CMake installs libraries without the right to execute them where the distribution does.
    mapfile -t program < <(find "$from/usr/local/bin" "$from/usr/local/lib" -type f \
      \( -perm -u+x -o -name '*.so' \) ! -path "$opencv")
    linked=$(libraries "${program[@]}")
    debian() { grep -v -e "^$torch/" -e "^$from/" | packages; }
    debian <<<"$linked" >"$out/packages"
    libraries "$opencv" | debian >"$out/opencv-packages"
    grep "^$torch/" <<<"$linked" >"$out/libraries"
    { cat "$out/libraries" && licences; } | copy
    ;;
  cuda)
    names=$(opened_by_name)
    mapfile -t opened <<<"$names"
    {
      printf '%s\n' "${opened[@]}"
      libraries "${opened[@]}" | grep "^$torch/"
      licences
    } | sort -u | comm -23 - "$from" | copy
    ;;
  *)
    echo "collect.sh: '$kind': expected cpu or cuda" >&2
    exit 2
    ;;
esac

#!/usr/bin/env bash
# bundle.sh DIR [BUILD]: what acceptance.sh needs on a machine with a GPU, in a new folder, and in DIR.tar.xz of at most
# 64 MiB.
#
# There are: the program of BUILD (default: build/ of this checkout) with its plug-in for GPUs and nvJPEG, the
# libraries of this system that they load, data, and the scripts. LibTorch is that machine's. Where STOKER_CALTECH101
# names the archive of Caltech-101, the data is a sample of it, else datasets/caltech101-mini.
# STOKER_PHOTOGRAPHS names a folder of larger images, as tests/support/programs/photographs.py makes them; STOKER_WHEEL the
# wheel `stoker` for that machine's Python, without which the parts that run in Python are left out.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)
out=${1:?bundle.sh DIR [BUILD]} build=${2:-$source/build}
limit=$((64 << 20))
sample=1000  # files of Caltech-101, 15 KB each

# Loaded, but not called by what acceptance.sh does: XML in archives with Unicode's 31 MB of tables, OpenCV's linear
# algebra and windows, HTTP with what it can speak. A library of the same symbols, each of which ends the process,
# stands for each.
uncalled='^lib(xml2|lapack|blas|curl|OpenGL|GL|GLX|EGL)\.so'
glibc='^(libc|libm|libpthread|libdl|librt|libutil|libresolv|ld-linux-x86-64)\.so|^linux-vdso'

die() { echo "bundle.sh: $*" >&2 && exit 1; }

needed() { readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

# stand_in LIBRARY NAME: with its symbols and their versions.
stand_in() {
  nm --dynamic --defined-only "$1" |
    awk '$2 != "A" && !/[^@]@[^@]/ { sub(/@@/, " ", $3); print $2, $3 }' >"$out/symbols"
  {
    echo '.text; dead: ud2; .bss; zeros: .skip 4096; .section .note.GNU-stack,"",@progbits'
    awk '{ print ".globl " $2 "; .set " $2 ", " ($1 ~ /[TtWi]/ ? "dead" : "zeros") }' "$out/symbols"
  } >"$out/stand_in.s"
  awk 'NF == 3 { of[$3] = of[$3] $2 "; " } END { for (version in of) print version " { global: " of[version] "};" }' \
    "$out/symbols" >"$out/versions"
  [ -s "$out/versions" ] || echo '{ global: *; };' >"$out/versions"
  "${CC:-cc}" -shared -nostdlib "$out/stand_in.s" -Wl,-soname,"$2" -Wl,--version-script,"$out/versions" -o "$out/lib/$2"
  rm "$out"/{symbols,stand_in.s,versions}
}

# collect FILE: the libraries that it loads and that are not there yet, and theirs. LibTorch's come with LibTorch.
collect() {
  local name path
  for name in $(needed "$1"); do
    [[ $name =~ $glibc || -e $out/lib/$name || -e $out/lib/stoker/$name ]] && continue
    path=${paths[$name]:-}
    [ -n "$path" ] || die "$name, which $1 needs, was not found"
    [[ $path == "$torch"/* ]] && continue
    if [[ $name =~ $uncalled ]]; then
      stand_in "$path" "$name"
    else
      cp --dereference "$path" "$out/lib/$name"
      collect "$out/lib/$name"
    fi
  done
}

# Every ninth file or so in the order of their names: the same ones on every machine.
take_sample() {
  local all=$out/all folder=$out/datasets/caltech101-sample
  mkdir -p "$all" "$folder"
  tar --extract --file "$STOKER_CALTECH101" --directory "$all" || die "$STOKER_CALTECH101 is not Caltech-101's tar.gz"
  (cd "$all"/* && find . -name '*.jpg' -size -200k | LC_ALL=C sort >../files &&
    awk -v take="$sample" -v all="$(wc -l <../files)" 'int(NR * take / all) > int((NR - 1) * take / all)' ../files |
    xargs cp --parents -t "$folder")
  rm -r "$all"
  echo "$sample files, taken evenly from Caltech-101 (CC BY 4.0, doi:10.22002/D1.20086)" \
    >"$folder/README.md"
}

[ -x "$build/bin/stoker" ] || die "there is no $build/bin/stoker: ./run.sh list builds it"
[ ! -e "$out" ] || die "$out is there already"
[ -e "$(dirname "$out")" ] || die "there is no folder $(dirname "$out")"
mkdir -p "$out"/{bin,lib/stoker,tests,datasets}
out=$(cd "$out" && pwd)
cp "$build/bin/stoker" "$out/bin/"
cp "$build"/lib/libstoker{,_app,_core}.so "$out/lib/"
# The plug-ins and tools that the acceptance uses, and those that these are linked with.
for name in train jpeg bench bench_train data report darshan hdf5 lmdb emulated profiler writers; do
  if [ -e "$build/lib/stoker/stoker_$name.so" ]; then cp "$build/lib/stoker/stoker_$name.so" "$out/lib/stoker/"; fi
done
own=("$out/bin/stoker" "$out"/lib/*.so "$out"/lib/stoker/*.so)
if [ -e "$build/lib/stoker/stoker_cuda.so" ]; then
  cp "$build/lib/stoker/stoker_cuda.so" "$out/lib/stoker/"
  own+=("$out/lib/stoker/stoker_cuda.so")
  nvjpeg=$(find "$build/_deps/" -follow -name 'libnvjpeg.so.*' | head -n 1)
  if [ -e "$build/lib/stoker/stoker_nccl.so" ]; then cp "$build/lib/stoker/stoker_nccl.so" "$out/lib/stoker/"; fi
  [ -n "$nvjpeg" ] || die "there is no libnvjpeg in $build/_deps: STOKER_GPU=1 ./run.sh fetches it"
  cp "$nvjpeg" "$out/lib/"
else
  echo "bundle.sh: $build has no stoker_cuda.so, so that only --stand-in can pass: STOKER_GPU=1 ./run.sh list builds it" >&2
fi

declare -A paths
while read -r name path; do paths[$name]=$path; done < <(
  LD_LIBRARY_PATH=$build/lib:$build/lib/stoker ldd "${own[@]}" | sed -n 's/^\t\(.*\) => \(\/[^ ]*\) (.*/\1 \2/p')
torch=${paths[libtorch_cpu.so]:?LibTorch was not found}
torch=${torch%/torch/lib/*}
for file in "${own[@]}"; do
  echo "file(RPATH_REMOVE FILE \"$file\")" >"$out/rpath.cmake" && cmake -P "$out/rpath.cmake" >/dev/null
  collect "$file"
done
rm "$out/rpath.cmake"
find "$out/bin" "$out/lib" -type f -exec chmod u+w {} + -exec strip --strip-unneeded {} +

mkdir -p "$out/tests/experiments/peers"
cp -r "$here" "$out/tests/"
cp "$source/tests/experiments/peers/common.py" "$out/tests/experiments/peers/"
cp "$source/LICENSE" "$out/"
if [ -n "${STOKER_CALTECH101:-}" ]; then
  take_sample
else
  cp -r "$source/datasets/caltech101-mini" "$out/datasets/"
fi
if [ -n "${STOKER_PHOTOGRAPHS:-}" ]; then cp -r "$STOKER_PHOTOGRAPHS" "$out/datasets/photographs"; fi
if [ -n "${STOKER_WHEEL:-}" ]; then python3 -m zipfile -e "$STOKER_WHEEL" "$out/python"; fi
find "$out" -name __pycache__ -prune -exec rm -r {} +
chmod -R a+rX "$out"

tar --create --directory "$out" . | xz --threads=0 >"$out.tar.xz"
bytes=$(stat --format=%s "$out.tar.xz")
[ "$bytes" -le "$limit" ] || die "$out.tar.xz has $bytes bytes; at most $limit: take fewer files (sample, above)"
count() { find "$@" | wc -l; }
libraries=$(count "$out/lib" -name '*.so*') images=$(count "$out/datasets" -name '*.jpg')
echo "$out.tar.xz: $((bytes >> 20)) MiB, $libraries libraries, $images images"

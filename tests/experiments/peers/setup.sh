#!/bin/bash
# setup.sh FOLDER [stoker|cv2|dali|tf|grain|torch|turbo|shards|spdl|ffcv|load|data|large|make-shards ...]: makes below
# FOLDER what arena.py and other experiments need (about 30 GB), or what is named: a virtual environment per peer, the data
# set (from the archive that STOKER_CALTECH101 names) with 128 files for --pixels, photographs of ImageNet's sizes, and both
# in shards. What is there is left alone. PYTHON: the interpreter, 3.10 to 3.12.
set -eu
folder=$(mkdir -p "${1:?usage: setup.sh FOLDER [peer ...]}" && cd "$1" && pwd)
shift
names=("$@")
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
failed=()
torch=(torch==2.11.0 torchvision==0.26.0 numpy)

wanted() { [ ${#names[@]} = 0 ] || [[ " ${names[*]} " == *" $1 "* ]]; }

# environment NAME PACKAGE...
environment() {
  local name=$1 place=$folder/v-$1 log=$folder/log-$1.txt
  shift
  if ! wanted "$name" || [ -e "$place/.done" ]; then return; fi
  echo "$name: $*"
  if "$python" -m venv "$place" && "$place/bin/pip" install --quiet "$@" >"$log" 2>&1 &&
    { [ "$name" != ffcv ] || "$place/bin/pip" install --quiet --no-build-isolation --no-deps ffcv==1.0.2 >>"$log" 2>&1; }; then
    touch "$place/.done"
  else
    failed+=("$name: see $log")
  fi
}

data() {
  local all=$folder/data/101_ObjectCategories few=$folder/pixels-128 archive=${STOKER_CALTECH101:-}
  if [ ! -d "$all" ]; then
    if [ ! -f "$archive" ]; then
      failed+=("data: STOKER_CALTECH101 must name the archive 101_ObjectCategories.tar.gz or caltech-101.zip")
      return
    fi
    mkdir -p "$folder/data"
    case $archive in
      *.zip) unzip -p "$archive" '*/101_ObjectCategories.tar.gz' | tar xz -C "$folder/data" ;;
      *) tar xzf "$archive" -C "$folder/data" ;;
    esac
  fi
  [ -d "$few" ] || (cd "$all" && find . -mindepth 2 -name '*.jpg' | LC_ALL=C sort |
    awk '{ all[NR] = $0 } END { step = int(NR / 128); for (i = 0; i < 128; ++i) print all[1 + i * step] }' |
    xargs cp --parents -t "$(mkdir -p "$few.new" && echo "$few.new")" && mv "$few.new" "$few")
}

# Photographs (tests/support/programs/photographs.py), of what Debian's packages of wallpapers hold. These are unpacked, and not installed.
large() {
  local sources=$folder/wallpapers package
  [ ! -d "$folder/data/photographs" ] || return 0
  environment large pillow
  if [ ! -d "$sources" ]; then
    mkdir -p "$sources.new"
    (cd "$sources.new" && apt-get download plasma-workspace-wallpapers mate-backgrounds lomiri-wallpapers-16.04 \
      lomiri-wallpapers-20.04 ukui-wallpapers && for package in *.deb; do dpkg-deb -x "$package" . && rm "$package"; done) \
      >"$folder/log-wallpapers.txt" 2>&1 && mv "$sources.new" "$sources"
  fi
  "$folder/v-large/bin/python" -B "$here/../../support/programs/photographs.py" "$folder/data/photographs" "$sources" >"$folder/log-large.txt" 2>&1 ||
    failed+=("large: see $folder/log-large.txt and log-wallpapers.txt; it needs Debian's packages of wallpapers")
}

# The same bytes in shards of each format whose peer is there: below FOLDER/data/NAME-shards.
make_shards() {
  local all form
  for all in "$folder"/data/101_ObjectCategories "$folder"/data/photographs; do
    for form in tar:"$python" tfrecord:"$folder/v-tf/bin/python" arrayrecord:"$folder/v-grain/bin/python" \
      mds:"$folder/v-shards/bin/python"; do
      if [ -d "$all" ] && command -v "${form#*:}" >/dev/null &&
        ! "${form#*:}" -B "$here/make_shards.py" "$all" "$all-shards" "${form%%:*}" >>"$folder/log-make-shards.txt" 2>&1; then
        failed+=("make-shards ${form%%:*}: see $folder/log-make-shards.txt")
      fi
    done
  done
}

if wanted data; then data; fi
environment stoker "$here/../../.." numpy
environment cv2 opencv-python-headless numpy
environment turbo turboloader==2.39.0 numpy
environment dali nvidia-dali-cuda130 numpy
environment tf tensorflow==2.21.0 numpy
environment grain grain numpy pillow opencv-python-headless
# train_cnn.py, ranks_peers.py and checkpoint_peers.py run there, and load_peers.py in the next.
environment torch "${torch[@]}" safetensors "$here/../../.."
environment load "${torch[@]}" safetensors fastsafetensors runai-model-streamer "$here/../../.."
environment shards webdataset==1.0.2 mosaicml-streaming==0.13.0 "${torch[@]}" opencv-python-headless
# SPDL without FFmpeg's libraries drops every image and ends without an error. FFCV is built from source.
environment spdl spdl==0.8.0 "${torch[@]}"
if wanted spdl && ! ldconfig -p | grep -q libavfilter; then failed+=("spdl: apt-get install ffmpeg"); fi
if wanted ffcv && ! pkg-config --exists opencv4 libturbojpeg; then
  failed+=("ffcv: apt-get install libopencv-dev libturbojpeg0-dev pkg-config")
else
  environment ffcv 'setuptools<70' wheel numba "${torch[@]}" pillow 'opencv-python-headless<5' fastargs terminaltables \
    pytorch-pfn-extras assertpy tqdm psutil imgcat matplotlib pandas
fi
if wanted large; then large; fi
if wanted make-shards; then make_shards; fi
if [ ${#failed[@]} != 0 ]; then
  printf 'not there: %s\n' "${failed[@]}" >&2
  exit 3
fi

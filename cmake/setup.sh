# shellcheck shell=bash
# What quickstart, run-tests and .ci/run share: install what is missing, configure, build. Sourced by bash in the project's root.

# Debian's names of what a build needs; CONTRIBUTING.md says what each is for.
# shellcheck disable=SC2034
packages=(cmake g++ ninja-build pkg-config libhdf5-dev libboost-program-options-dev libopenblas-dev liblapacke-dev libgtest-dev
  libgmock-dev libbenchmark-dev libhwy-dev nlohmann-json3-dev libfmt-dev libdeflate-dev libzip-dev)

say() { printf '\n==> %s\n' "$*"; }
fail() { printf '%s: error: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# install_missing PACKAGE...: by apt-get, as root or through sudo; touches nothing when all are there.
install_missing() {
  local package missing=() root=()
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "No apt-get here: expecting these Debian packages' counterparts to be installed: $*"
    return
  fi
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || fail "as root, run: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  say "Installing with apt-get: ${missing[*]}"
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null ||
    fail "apt-get could not install: ${missing[*]}"
}

# configure_and_build PRESET [TARGET...]: all targets when none is named.
configure_and_build() {
  local preset=$1 log targets=()
  shift
  [[ $# -eq 0 ]] || targets=(--target "$@")
  say "Configuring (preset $preset)"
  log=$(cmake --preset "$preset" 2>&1) || { printf '%s\n' "$log" >&2; fail "cmake --preset $preset failed"; }
  printf '%s\n' "$log" | tail -n 1
  say "Building ${*:-everything}"
  cmake --build --preset "$preset" --parallel "$(nproc)" "${targets[@]}"
}

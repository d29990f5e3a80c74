#!/bin/sh
# Sets up what a fresh Debian with Python and git lacks. Safe to run again.
set -eu

PYTHON=${PYTHON:-python3}
VENV=${VENV:-.venv}

say() { printf '%s\n' "$*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else return 1; fi
}

install_packages() {
    command -v apt-get >/dev/null || return 1
    as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq "$@" >/dev/null
}

java_major() {
    java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

install_java() {
    for package in openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; do
        install_packages "$package" && return 0
    done
    return 1
}

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 …"
    exit 1
fi

if ! command -v java >/dev/null || [ "$(java_major)" -lt 17 ] 2>/dev/null; then
    say "installing a Java 17 runtime …"
    install_java || { say "Java 17 or newer is needed: install openjdk-17-jre-headless, or its like"; exit 1; }
fi

if [ ! -x "$VENV/bin/pip" ]; then
    rm -rf "$VENV"
    if ! "$PYTHON" -m venv "$VENV" >/dev/null 2>&1; then
        say "installing Python's venv module …"
        install_packages python3-venv || { say "Python's venv module is needed: install python3-venv"; exit 1; }
        rm -rf "$VENV"
        "$PYTHON" -m venv "$VENV"
    fi
fi

say "installing packages from requirements.lock …"
"$VENV/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
"$VENV/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .

#!/usr/bin/env bash
# Checks nginx/nginx.conf with a real nginx: `nginx -t`, then a run before two small web services (check-nginx.mjs).
# Where nginx is missing, root on Debian installs it; it is not started as a service.
# Exit code: 0 all is well, 1 something is wrong, 3 there is no nginx here: nothing was checked.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/sbin"

install_nginx() {
  [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || return 1
  local policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then # says that packages start no service, for as long as this takes
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  timeout 120 apt-get update -qq && timeout 300 apt-get install -y -qq --no-install-recommends nginx
}

if ! command -v nginx > /dev/null; then
  echo 'docker check: nginx is missing, installing it'
  install_nginx > /dev/null || true
fi
if ! command -v nginx > /dev/null; then
  echo 'docker check: NOT CHECKED, nginx is not here and could not be installed (install it, or run this as root on Debian)'
  exit 3
fi
node docker/check-nginx.mjs "$(command -v nginx)"

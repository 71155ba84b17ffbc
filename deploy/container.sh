#!/bin/sh
# `tocsin` inside the container: what the image starts, and what you call in a shell there. Root gives /data to the user
# `node` (volumes mount as root's) and becomes that user, so that nothing it does leaves a file behind that the relay
# cannot read. Anybody else runs Tocsin as they are.
set -eu

app=$(dirname "$(dirname "$(readlink -f "$0")")")
cd "$app"

if [ "$(id -u)" -ne 0 ]; then
  exec node bin/tocsin.js "$@"
fi

data=$(readlink -m "${DATA_DIR:-/data}")
case $data in
  /data | /data/*)
    mkdir -p "$data"
    chmod 0700 "$data"
    find "$data" -xdev ! -user node -exec chown --no-dereference node:node {} +
    ;;
  # Any other folder is yours to prepare: giving it away could take it from whoever needs it.
esac
exec env HOME=/home/node \
  setpriv --reuid=node --regid=node --init-groups --inh-caps=-all --no-new-privs node bin/tocsin.js "$@"

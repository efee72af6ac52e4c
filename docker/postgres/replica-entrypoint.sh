#!/usr/bin/env bash
# Entry point of a streaming replica on the postgres image: clones the primary at the first start, then starts like any
# other server. `-R` writes standby.signal and the connection to the primary into the clone.
set -euo pipefail
: "${PGDATA:?is not set}" "${PRIMARY_HOST:?is not set}" "${REPLICATION_PASSWORD:?is not set}"

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  clone="$PGDATA.clone"
  rm -rf "$clone" # of a start that was interrupted
  install --directory --owner=postgres --group=postgres "$(dirname "$PGDATA")"
  PGPASSWORD="$REPLICATION_PASSWORD" gosu postgres pg_basebackup --no-password -R \
    --dbname="host=$PRIMARY_HOST port=${PRIMARY_PORT:-5432} user=replicator application_name=${REPLICA_NAME:-replica}" \
    --pgdata="$clone" --wal-method=stream --checkpoint=fast
  if [ -d "$PGDATA" ]; then rmdir "$PGDATA"; fi
  mv "$clone" "$PGDATA" # in one step: a data directory is there whole or not at all
fi

exec docker-entrypoint.sh "$@"

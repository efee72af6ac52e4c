#!/usr/bin/env bash
# Runs once, when shard0 initialises its data directory: a role that may replicate and nothing else, and the line that
# lets it in from the containers' own network. The image sources a script that is not executable, hence no `set -u`.
set -eo pipefail

psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --set=password="${REPLICATION_PASSWORD:?is not set}" \
  --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
create role replicator with replication login password :'password';
SQL
echo 'host replication replicator samenet scram-sha-256' >> "$PGDATA/pg_hba.conf"

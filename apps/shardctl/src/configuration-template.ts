/** What `shardctl init` writes: a small deployment that resolves as it is, and every key that one meets first. */
export const CONFIGURATION_TEMPLATE = `# Configuration of nestjs-sharding, read by ShardingModule.forRoot() and by shardctl.
#
# Laid over it, each over the one before: [profile.NAME] below, sharding.NAME.toml beside this file (both with
# SHARDING_PROFILE=NAME or --profile NAME), and the environment, for example SHARDING_DATABASE__POOL_SIZE=5 or
# SHARDING_DATABASE__SHARDS__0__PRIMARY_URL=postgres://... . Keep passwords there rather than here.

[database]
# The control database: framework state and unsharded tables, never sharded rows.
primary_url = "postgres://app@localhost:5432/app_control"
pool_size = 10                     # connections of each pool, per process
# connect_timeout_ms = 5000        # also the wait for a free connection
# statement_timeout_ms = 30000     # the server ends a longer statement; 0: no bound
# directory_shard_router = true    # pins (shardctl pin) win over the slot map
# slot_map_guard = "strict"        # refuse to boot when slots changed their owner and no rows were moved
# pooler = "transaction"           # the URLs lead to a PgBouncer in transaction mode ...
# maintenance_url = "postgres://app@localhost:5432/app_control"   # ... and this one around it

# A routing key (the tenant id) hashes for ever to one of 16384 slots; \`slots\` says who owns them.
# All shards of a group declare slots, or none does. An empty list is a drained shard.
[[database.shards]]
name = "shard0"
primary_url = "postgres://app@localhost:5432/app_shard0"
slots = ["0-8191"]
# replica_url = "postgres://app@localhost:5433/app_shard0"   # a streaming replica
# replica_fallback = "primary"     # what readers get while it is not ready; default "fail_readiness"
# group = 1                        # where data is allowed to live; each group has a slot map of its own

[[database.shards]]
name = "shard1"
primary_url = "postgres://app@localhost:5432/app_shard1"
slots = ["8192-16383"]

[tenancy]
source = "header"                  # or "subdomain", "jwt", "custom"
header_name = "x-tenant-id"

[migrations]
# Globs of compiled files that export migration classes, seen from the working directory.
control = []                       # "dist/migrations/control/*.js"
shards = []                        # "dist/migrations/shards/*.js"
# auto_migrate = "never"           # default "development": a boot migrates under that profile alone
# lock_timeout_ms = 5000           # how long a migration waits for a lock before it lets others pass

# [profile.production.database]
# pool_size = 20
`;

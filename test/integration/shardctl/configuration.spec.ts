import { describe, expect, it } from '@jest/globals';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { Shardctl } from '../../support/shardctl.js';
import { OFFLINE } from './deployed.js';

const shardctl = Shardctl.attach();

const SECRET = 'hush-hush-hush-hush-hush-hush-hush-hush';
const FULL = `
[database]
primary_url = "postgres://app:${SECRET}@control.example/app_control?sslmode=require&password=${SECRET}"
replica_url = "postgres://app:${SECRET}@replica.example/app_control"
maintenance_url = "postgres://app:${SECRET}@[::1]:6000/app_control"
read_your_writes = "session"
session_secret = "${SECRET}"
cursor_secret = "${SECRET}"
move_certificate_secret = "${SECRET}"
[[database.shards]]
name = "shard0"
primary_url = "postgres://us%20er:${SECRET}@s0.example/app"
slots = ["0-8191", 8192]
[[database.shards]]
name = "shard1"
primary_url = "postgres://s1.example/app"
slots = ["8193-16383"]
[tenancy]
source = "jwt"
jwt_secret = "${SECRET}"
[profile.big.database]
pool_size = 50
`;

describe('config', () => {
  it('prints what the module would run on, as TOML, with every secret masked', async () => {
    const { code, out, err } = await shardctl.run(['config'], { toml: FULL });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).not.toContain('hush');
    expect(out.replace(/# file: .*\/sharding.toml/, '# file: FILE')).toMatchInlineSnapshot(`
     "# file: FILE
     # profile: none
     # environment: nothing

     [database]
     primary_url = "postgres://app:****@control.example:5432/app_control?sslmode=require"
     maintenance_url = "postgres://app:****@[::1]:6000/app_control"
     primary_pool_size = 10
     pooler = "none"
     connect_timeout_ms = 5000
     statement_timeout_ms = 30000
     idle_in_transaction_timeout_ms = 60000
     slow_query_threshold_ms = 500
     replica_url = "postgres://app:****@replica.example:5432/app_control"
     replica_pool_size = 10
     replica_fallback = "fail_readiness"
     max_replica_lag_ms = 0
     max_connections_warn_threshold = 100
     drain_timeout_ms = 10000
     read_your_writes = "session"
     causal_wait_ms = 100
     replica_probe_interval_ms = 1000
     session_secret = "****"
     scatter = "allow"
     cursor_secret = "****"
     move_certificate_secret = "****"
     cancel_on_disconnect = false
     directory_shard_router = false
     directory_snapshot_max = 100000
     directory_cache_ttl_ms = 30000
     directory_on_outage = "serve_stale"
     directory_max_staleness_ms = 30000
     slot_map_guard = "warn"

     [[database.shards]]
     name = "shard0"
     group = 0
     member = 0
     slots = [ "0-8192" ]
     primary_url = "postgres://us%20er:****@s0.example:5432/app"
     primary_pool_size = 10
     pooler = "none"
     connect_timeout_ms = 5000
     statement_timeout_ms = 30000
     idle_in_transaction_timeout_ms = 60000
     slow_query_threshold_ms = 500

     [[database.shards]]
     name = "shard1"
     group = 0
     member = 1
     slots = [ "8193-16383" ]
     primary_url = "postgres://s1.example:5432/app"
     primary_pool_size = 10
     pooler = "none"
     connect_timeout_ms = 5000
     statement_timeout_ms = 30000
     idle_in_transaction_timeout_ms = 60000
     slow_query_threshold_ms = 500

     [tenancy]
     enabled = true
     source = "jwt"
     required = "on_use"
     public_paths = []
     max_length = 255
     claim = "tenant_id"
     algorithms = [ "HS256", "HS384", "HS512" ]
     key = "****"

     [migrations]
     control = []
     shards = []
     auto_migrate = "development"
     pending_migrations = "refuse"
     lock_timeout_ms = 5000
     interleave_identities = true
     identity_stride = 1024
     "
    `);
    expect(parse(out)).toHaveProperty('database.shards.1.name', 'shard1');
  });

  it('says the same as JSON, with where it comes from', async () => {
    const cwd = await shardctl.workingDirectory(FULL);
    const { out } = await shardctl.run(['config', '--profile', 'big', '--json'], {
      cwd,
      environment: {
        SHARDING_DATABASE__SHARDS__1__PRIMARY_URL: `postgres://app:${SECRET}@other.example/app`,
      },
    });
    expect(out).not.toContain('hush');
    expect(JSON.parse(out)).toMatchObject({
      sources: {
        file: join(cwd, 'sharding.toml'),
        profile: 'big',
        environment: ['SHARDING_DATABASE__SHARDS__1__PRIMARY_URL'],
      },
      configuration: {
        database: {
          primary_pool_size: 50,
          shards: [{ name: 'shard0' }, { primary_url: 'postgres://app:****@other.example:5432/app' }],
        },
      },
    });
  });

  it('reads the file that --config or SHARDING_CONFIG names, and the environment alone', async () => {
    const cwd = await shardctl.workingDirectory();
    await writeFile(join(cwd, 'other.toml'), OFFLINE);
    const file = async (args: string[], environment = {}) =>
      (
        JSON.parse((await shardctl.run(['config', '--json', ...args], { cwd, environment })).out) as {
          sources: object;
        }
      ).sources;
    const other = { file: join(cwd, 'other.toml'), profile: null, environment: [] };
    expect(await file(['--config', 'other.toml'])).toEqual(other);
    expect(await file([], { SHARDING_CONFIG: 'other.toml' })).toEqual(other);
    const variables = { SHARDING_DATABASE__PRIMARY_URL: 'postgres://app@h/d' };
    expect(await file([], variables)).toEqual({
      file: null,
      profile: null,
      environment: Object.keys(variables),
    });
  });

  it('accepts a tenant source that is code', async () => {
    const toml = OFFLINE.replace('source = "header"', 'source = "custom"');
    expect((await shardctl.run(['config'], { toml })).code).toBe(0);
  });

  it('names a file and a profile that are not there', async () => {
    expect(await shardctl.run(['config', '--config', 'nope.toml'])).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: the sharding configuration has problems: the configuration file nope.toml does not exist\n',
    });
    expect((await shardctl.run(['config', '--profile', 'bigg'], { toml: FULL })).err).toBe(
      'shardctl: the sharding configuration has problems: there is no profile "bigg"; did you mean "big"?\n',
    );
  });
});

describe('init', () => {
  it('writes a file that is a configuration, for the owner alone', async () => {
    const cwd = await shardctl.workingDirectory();
    const file = join(cwd, 'sharding.toml');
    expect(await shardctl.run(['init'], { cwd })).toEqual({
      code: 0,
      err: '',
      out: `wrote ${file}; now set the URLs in it, and look with: shardctl config\n`,
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await shardctl.run(['slots'], { cwd })).out).toBe(
      'shard   group  slots  share  ranges\nshard0      0   8192  50 %   0-8191\nshard1      0   8192  50 %   8192-16383\n',
    );
  });

  it('never changes a file that is there', async () => {
    const cwd = await shardctl.workingDirectory('# mine');
    const file = join(cwd, 'sharding.toml');
    expect(await shardctl.run(['init'], { cwd })).toEqual({
      code: 1,
      out: '',
      err: `shardctl: ${file} is there already and was left as it is; remove it, or name another file with --config\n`,
    });
    expect(await readFile(file, 'utf8')).toBe('# mine');
  });

  it('writes the file that --config names', async () => {
    const cwd = await shardctl.workingDirectory();
    const { code, out } = await shardctl.run(['init', '--config', 'a.toml', '--json'], { cwd });
    expect({ code, out: JSON.parse(out) as unknown }).toEqual({
      code: 0,
      out: { file: join(cwd, 'a.toml') },
    });
    expect((await shardctl.run(['init', '--config', 'no/such/a.toml'], { cwd })).err).toBe(
      `shardctl: ${join(cwd, 'no/such/a.toml')} cannot be written (ENOENT); name another file with --config\n`,
    );
  });

  it('keeps every commented key readable', async () => {
    const cwd = await shardctl.workingDirectory();
    await shardctl.run(['init'], { cwd });
    const text = await readFile(join(cwd, 'sharding.toml'), 'utf8');
    const uncommented = text
      .replaceAll(/^# (?=[a-z_]+ = |\[)/gm, '')
      .replace('group = 1', 'group = 0')
      .replace('app_control"   # ... and', 'app_control" # ... and');
    const { code, err } = await shardctl.run(['config', '--profile', 'production'], {
      cwd: await shardctl.workingDirectory(uncommented),
    });
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });
});

import type { MoveSession } from '../../move-session.js';

/** Whether this role may set `session_replication_role`. It can be granted since PostgreSQL 15. */
export async function mayBeReplica({ client }: MoveSession): Promise<boolean> {
  const { rows } = await client.query<{ superuser: boolean; grants: boolean }>(
    `select rolsuper as superuser, current_setting('server_version_num')::int >= 150000 as grants
    from pg_roles where rolname = current_user`,
  );
  const [role] = rows;
  if (!role?.grants) return role?.superuser ?? false;
  return role.superuser || mayBeGranted(client);
}

async function mayBeGranted(client: MoveSession['client']): Promise<boolean> {
  const { rows } = await client.query<{ granted: boolean }>(
    `select has_parameter_privilege('session_replication_role', 'set') as granted`,
  );
  return rows[0]?.granted ?? false;
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The operating-system user that runs PostgreSQL; empty when it is the current one. */
export type ServerUser = { readonly uid: number; readonly gid: number } | Record<string, never>;

/**
 * PostgreSQL refuses to run as root. As root this is the user `postgres`, created when there is none, or `nobody`
 * when it cannot be created; otherwise everything runs as the current user.
 */
export async function serverUser(): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return {};
  const user = (await lookUp('postgres')) ?? (await createUser('postgres')) ?? (await lookUp('nobody'));
  if (!user)
    throw new Error('PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody"');
  return user;
}

async function lookUp(name: string): Promise<ServerUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/** Two processes may do this at once, so what counts is whether the user is there afterwards. */
async function createUser(name: string): Promise<ServerUser | undefined> {
  await run('groupadd', ['--system', name]).catch(() => undefined);
  await run('useradd', ['--system', '--gid', name, '--no-create-home', name]).catch(() => undefined);
  return lookUp(name);
}

import { TestCluster } from './test-cluster.js';

/** A fresh control database on the shared server, with the library's own tables. It ends with the server. */
export async function controlDatabase(): Promise<string> {
  const cluster = TestCluster.attach();
  const template = await cluster.template('control', installControl);
  return cluster.createDatabase({ template, label: 'control' });
}

/** Brings the library's own tables and functions into a database. */
export async function installControl(primaryUrl: string): Promise<void> {
  const { migrate, resolveOptions } = await import('@app/sharding'); // of a run one file needs it
  await migrate(resolveOptions({ database: { primaryUrl } }), () => undefined);
}

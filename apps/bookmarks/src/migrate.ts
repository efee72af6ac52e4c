import 'reflect-metadata';
import { loadShardingOptions, migrate, resolveOptions } from '@app/sharding';

/** Migrates every target of the configuration once, before the service starts; exit code 1 at the first failure. */
try {
  await migrate(resolveOptions(loadShardingOptions(), 'toml'), console.log);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

import type { Client } from 'pg';
import type { Target } from './targets.js';

export interface AskOptions {
  /** Bound of everything together, connecting included. */
  readonly limitMs: number;
  /** Cancels on the server what is under way. */
  readonly signal: AbortSignal;
}

const CANCEL_LIMIT_MS = 1000;

/**
 * Runs `work` on a connection of its own to a target and closes it: around a pooler where the configuration knows a way.
 *
 * @throws the driver's error; `timeout expired`
 */
export async function askTarget<T>(
  target: Target,
  { limitMs, signal }: AskOptions,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { clientConfig } = await import('@app/sharding/config');
  const { sendCancelRequest, withDedicatedConnection } = await import('@app/sharding/operator');
  const { settings } = target;
  const config = clientConfig(settings.maintenanceUrl ?? settings.url);
  signal.throwIfAborted();
  return withDedicatedConnection(
    { config, limitMs, applicationName: applicationName(target) },
    async (client) => {
      const cancel = () =>
        void sendCancelRequest(config, keyOf(client), CANCEL_LIMIT_MS).catch(() => undefined);
      signal.addEventListener('abort', cancel, { once: true });
      try {
        return await work(client);
      } finally {
        signal.removeEventListener('abort', cancel);
      }
    },
  );
}

/** A transaction-mode pooler is sent no parameters. */
function applicationName({ settings, target }: Target): string | undefined {
  if (settings.pooler === 'transaction' && !settings.maintenanceUrl) return undefined;
  return `nestjs-sharding shardctl ${target}`;
}

/** What the server has given the session to be cancelled by; the types of `pg` do not say that it is there. */
function keyOf(client: Client): { processID: number; secretKey: number } {
  return client as unknown as { processID: number; secretKey: number };
}

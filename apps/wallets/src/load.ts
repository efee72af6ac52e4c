import { setTimeout as pause } from 'node:timers/promises';
import type { Transfers } from './transfers.js';
import type { Wallet } from './wallet.entity.js';

/** What a load did. */
export interface LoadReport {
  readonly sent: number;
  /** Done when the call returned: both wallets are on one shard. */
  readonly within: number;
  /** Under way as sagas when the call returned. */
  readonly across: number;
  /** By what was answered: a balance that is too low, a shard that is down. */
  readonly refused: Readonly<Record<string, number>>;
}

export interface LoadPlan {
  /** Transfers in all. */
  readonly transfers: number;
  /** At a time. */
  readonly width: number;
  /** Numbers from 0 (included) to 1. */
  readonly random: () => number;
}

/** Moves money between random wallets, now and then more than there is. */
export async function transferLoad(
  transfers: Transfers,
  wallets: readonly Wallet[],
  { transfers: count, width, random }: LoadPlan,
): Promise<LoadReport> {
  const refused: Record<string, number> = {};
  const done = { within: 0, across: 0 };
  const any = () => wallets[Math.floor(random() * wallets.length)]?.id ?? '';
  const one = async () => {
    const [from, to] = [any(), any()];
    if (from === to) return one();
    try {
      const { state } = await transfers.send({ from, to, amount: 1 + Math.floor(random() * 4000) });
      done[state === 'completed' ? 'within' : 'across'] += 1;
    } catch (error) {
      const reason = codeOf(error);
      refused[reason] = (refused[reason] ?? 0) + 1;
      await pause(20); // a shard that is down answers at once
    }
  };
  const queue = Array.from({ length: count }).keys();
  const lane = async () => {
    for (const _ of queue) await one();
  };
  await Promise.all(Array.from({ length: width }, lane));
  return { sent: count, ...done, refused };
}

function codeOf(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code ?? message;
}

import { Inject, Injectable } from '@nestjs/common';
import { Action, Saga, SagaSteps, type ActionContext, type SagaView } from '@app/actions';
import { ShardedUuid } from '@app/routing';
import { Accounts } from '../../support/bank-actions.js';
import type { Account } from '../../support/purse-fleet.js';

/** Money for one account. */
export interface Amount {
  readonly account: string;
  readonly amount: number;
  /** What the action throws, by its name. */
  readonly fail?: string;
}

/** What tests want to happen inside of actions. */
@Injectable()
export class Behaviour {
  readonly runs: string[] = [];
  /** Called before an action changes anything. */
  before: (name: string, amount: Amount) => unknown = () => undefined;
}

export class Poor extends Error {}

@Injectable()
export class Change {
  constructor(
    @Inject(Accounts) private readonly accounts: Accounts,
    @Inject(Behaviour) private readonly behaviour: Behaviour,
  ) {}

  async stage(name: string, params: Amount, { plan }: ActionContext): Promise<number> {
    this.behaviour.runs.push(name);
    await this.behaviour.before(name, params);
    const account = await this.accounts.rows.onPrimary().findByIdOrFail(params.account as Account['id']);
    account.amount += params.amount;
    if (account.amount < 0) throw new Poor('secret content');
    plan.update(account);
    return account.amount;
  }
}

abstract class ChangeAction {
  constructor(@Inject(Change) private readonly change: Change) {}

  perform(params: Amount, ctx: ActionContext): Promise<number> {
    return this.change.stage(this.constructor.name, params, ctx);
  }
}

@Action()
export class Withdraw extends ChangeAction {}

@Action()
export class Deposit extends ChangeAction {}

@Action()
export class Refund extends ChangeAction {}

export interface Order {
  readonly from: string;
  readonly to: readonly string[];
  readonly amount: number;
  readonly timeoutMs?: number;
}

const at = (account: string) => ({ at: ShardedUuid.identifier(account) });

/** From one account to two others at the same time. */
@Saga('split')
export class SplitSaga extends SagaSteps<Order> {
  override readonly stages = [
    this.step('withdraw', {
      action: Withdraw,
      params: ({ data: { from, to, amount } }: SagaView<Order>) => ({
        account: from,
        amount: -amount * to.length,
      }),
      home: ({ data }: SagaView<Order>) => at(data.from),
      compensation: {
        action: Refund,
        params: ({ data: { from, to, amount } }: SagaView<Order>) => ({
          account: from,
          amount: amount * to.length,
        }),
      },
      timeoutMs: 60_000,
    }),
    [this.#deposit('first', 0), this.#deposit('second', 1)],
  ];

  #deposit(name: string, index: number) {
    const account = ({ data }: SagaView<Order>) => data.to[index] ?? '';
    return this.step(name, {
      action: Deposit,
      params: (saga: SagaView<Order>) => ({ account: account(saga), amount: saga.data.amount }),
      home: (saga: SagaView<Order>) => at(account(saga)),
      compensation: {
        action: Withdraw,
        params: (saga: SagaView<Order>) => ({ account: account(saga), amount: -saga.data.amount }),
      },
      timeoutMs: 1500,
    });
  }
}

export const SAGAS = [Accounts, Behaviour, Change, Withdraw, Deposit, Refund, SplitSaga];

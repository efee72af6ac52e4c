import { Injectable } from '@nestjs/common';
import { ShardIdentifier, ShardSelector, slotOf } from '@app/routing';

/** Where wallets of a country are allowed to live: for ever, as the group is in their ids. */
const GROUPS = { DE: 0, FR: 0, MX: 1 } as const;
/** Databases that take new wallets, by group. */
const MEMBERS: Readonly<Record<number, number>> = { 0: 2, 1: 1 };

export const COUNTRIES = Object.keys(GROUPS) as (keyof typeof GROUPS)[];
export type Country = (typeof COUNTRIES)[number];

/** What is known of the owner of a new wallet. */
export interface Owner {
  readonly country: Country;
  readonly owner: string;
}

/** The law says the group; the members of a group share the owners evenly. */
@Injectable()
export class Countries extends ShardSelector<Owner> {
  override groupOf({ country }: Owner): number {
    return GROUPS[country];
  }

  override identifierOf({ country, owner }: Owner): ShardIdentifier {
    const group = GROUPS[country];
    return ShardIdentifier.of(group, slotOf(owner) % (MEMBERS[group] ?? 1));
  }
}

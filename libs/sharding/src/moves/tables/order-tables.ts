/** Both are names. */
export interface Edge {
  readonly from: string;
  readonly to: string;
}

/**
 * Groups of tables, such that a group comes after those that it refers to; tables that refer to each other, also by way of
 * others, are one group. Tables that could stand in any order keep theirs. After R. Tarjan.
 */
export function orderTables(tables: readonly string[], references: readonly Edge[]): string[][] {
  const targets = new Map(tables.map((table) => [table, [] as string[]]));
  for (const { from, to } of references) targets.get(from)?.push(to);
  const groups: string[][] = [];
  const open: string[] = [];
  const numbers = new Map<string, number>();
  const visit = (table: string): number => {
    const number = numbers.size;
    let lowest = number;
    numbers.set(table, number);
    open.push(table);
    for (const target of tables.filter((other) => targets.get(table)?.includes(other))) {
      if (!numbers.has(target)) lowest = Math.min(lowest, visit(target));
      else if (open.includes(target)) lowest = Math.min(lowest, numbers.get(target) ?? number);
    }
    if (lowest === number) {
      const group = new Set(open.splice(open.indexOf(table)));
      groups.push(tables.filter((member) => group.has(member)));
    }
    return lowest;
  };
  for (const table of tables) if (!numbers.has(table)) visit(table);
  return groups;
}

import cronParser from 'cron-parser';

/** Nothing, or why the expression cannot be read. */
export function cronProblems(expression: string, timeZone = 'UTC'): string[] {
  try {
    cronParser.parseExpression(expression, { tz: timeZone }).next();
    return [];
  } catch {
    return [`"${expression}" in "${timeZone}" is no cron expression`];
  }
}

/** Times of one cron expression around a moment. */
export interface DueTimes {
  /** The latest time that is not after the moment. */
  readonly last: Date;
  /** The first one after it. */
  readonly next: Date;
}

export function dueTimes(expression: string, timeZone: string, now: Date): DueTimes {
  const next = cronParser.parseExpression(expression, { tz: timeZone, currentDate: now }).next();
  const last = cronParser.parseExpression(expression, { tz: timeZone, currentDate: next.toDate() }).prev();
  return { last: last.toDate(), next: next.toDate() };
}

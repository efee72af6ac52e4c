/** Table, column and function that are not there. */
const UNDEFINED = ['42P01', '42703', '42883'];

/** What the framework's tables are asked for is not there: its migrations have not run, or not all of them. */
export function isUnmigrated(code: string | undefined): boolean {
  return code !== undefined && UNDEFINED.includes(code);
}

export const INSUFFICIENT_PRIVILEGE = '42501';

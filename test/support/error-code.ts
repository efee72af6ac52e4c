/**
 * The `code` of an error of the operating system or of PostgreSQL. Looks at the property, not at the class: inside
 * Jest, errors of Node itself are not `instanceof Error`.
 */
export function errorCode(error: unknown): string | undefined {
  const code = isObject(error) ? error['code'] : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** The message of whatever was thrown. */
export function errorMessage(error: unknown): string {
  const message = isObject(error) ? error['message'] : undefined;
  return typeof message === 'string' ? message : String(error);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

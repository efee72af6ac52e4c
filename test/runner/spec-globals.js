import { globals } from './live-globals.js';

/** `@jest/globals` for one spec file, as it is when that is imported: the source hooks load this once for each. */
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = globals();

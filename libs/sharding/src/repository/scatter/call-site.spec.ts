import { expect, it } from '@jest/globals';
import { siteOf } from './call-site.js';

const frames = (...lines: string[]) =>
  ['Error: call site', ...lines.map((line) => `    at ${line}`)].join('\n');

it.each([
  [
    frames('find (/lib/scatter/a.js:1:2)', 'Service.top (file:///app/src/top.service.js:12:34)'),
    'src/top.service.js:12',
  ],
  [frames('/lib/scatter/a.js:1:2', '/app/src/x.ts:5:1'), 'src/x.ts:5'],
  [frames('async Object.<anonymous> (/app/src/x.ts:7:1)'), 'src/x.ts:7'],
  [frames('async file:///app/src/main.js:3:1'), 'src/main.js:3'],
  [frames('find (/lib/scatter/a.js:1:2)', 'node:internal/process:1:1'), 'unknown'],
  ['', 'unknown'],
])('%#', (stack, site) => expect(siteOf(stack, '/lib/scatter')).toBe(site));

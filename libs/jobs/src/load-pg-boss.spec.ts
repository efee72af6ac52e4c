import { expect, it } from '@jest/globals';
import { loadPgBoss } from './load-pg-boss.js';

it('says what to install where pg-boss is not, and hides no other failure', async () => {
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  await expect(loadPgBoss(() => Promise.reject(missing))).rejects.toMatchObject({
    code: 'invalid_options',
    message: 'JobsModule needs pg-boss: npm install pg-boss@^10.4.2',
  });
  await expect(loadPgBoss(() => Promise.reject(new SyntaxError('broken')))).rejects.toThrow('broken');
});

it('loads what is installed', async () => {
  expect((await loadPgBoss()).name).toBe('PgBoss');
});

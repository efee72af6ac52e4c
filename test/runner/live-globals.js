/**
 * `@jest/globals` for modules that outlive a spec file, such as fixtures: a name stands for what the file that runs now has by
 * that name.
 */
let current;

export function setGlobals(globals) {
  current = globals;
}

export function globals() {
  return current;
}

const live = (name) =>
  new Proxy(() => {}, {
    get: (_, key) => current[name][key],
    apply: (_, self, args) => Reflect.apply(current[name], self, args),
  });

export const afterAll = live('afterAll');
export const afterEach = live('afterEach');
export const beforeAll = live('beforeAll');
export const beforeEach = live('beforeEach');
export const describe = live('describe');
export const expect = live('expect');
export const it = live('it');
export const jest = live('jest');
export const test = live('test');

import jestCircus from 'jest-circus/runner';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { setGlobals } from './live-globals.js';

const require = createRequire(import.meta.url);

/** Jest's own runner of a spec file; but one in a `SharedModulesEnvironment` is imported by Node. */
export default function run(globalConfig, config, environment, runtime, testPath, sendMessage) {
  const own = environment.sharesModules ? importedByNode(runtime, testPath) : runtime;
  return jestCircus.default(globalConfig, config, environment, own, testPath, sendMessage);
}

function importedByNode(runtime, testPath) {
  return Object.assign(Object.create(runtime), {
    requireInternalModule(path) {
      delete require.cache[path]; // each file starts with no tests and no handlers of another
      return require(path);
    },
    setGlobalsForRuntime(globals) {
      runtime.setGlobalsForRuntime(globals);
      setGlobals(runtime.requireModuleOrMock(testPath, '@jest/globals'));
    },
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (path) => import(pathToFileURL(path).href),
  });
}

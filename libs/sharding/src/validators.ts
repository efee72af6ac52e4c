import { createRequire } from 'node:module';
import type * as ClassValidator from 'class-validator';

type Part<Name extends keyof typeof ClassValidator> = Pick<typeof ClassValidator, Name>;

/**
 * What the options use of `class-validator`, each from its own file. The index of the package loads three hundred files more
 * (every telephone number plan, for one), for which a command line would wait longer than for everything else together.
 */
const load = createRequire(import.meta.url);
const part = <Name extends keyof typeof ClassValidator>(path: string) =>
  load(`class-validator/cjs/${path}.js`) as Part<Name>;

export const { IsArray } = part<'IsArray'>('decorator/typechecker/IsArray');
export const { IsBoolean } = part<'IsBoolean'>('decorator/typechecker/IsBoolean');
export const { IsInt } = part<'IsInt'>('decorator/typechecker/IsInt');
export const { IsString } = part<'IsString'>('decorator/typechecker/IsString');
export const { IsIn } = part<'IsIn'>('decorator/common/IsIn');
export const { IsNotEmpty } = part<'IsNotEmpty'>('decorator/common/IsNotEmpty');
export const { IsOptional } = part<'IsOptional'>('decorator/common/IsOptional');
export const { Max } = part<'Max'>('decorator/number/Max');
export const { Min } = part<'Min'>('decorator/number/Min');
export const { IsUrl } = part<'IsUrl'>('decorator/string/IsUrl');
export const { Matches } = part<'Matches'>('decorator/string/Matches');
export const { getMetadataStorage } = part<'getMetadataStorage'>('metadata/MetadataStorage');
export const { Validator } = part<'Validator'>('validation/Validator');

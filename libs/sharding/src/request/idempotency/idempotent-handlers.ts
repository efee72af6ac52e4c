import { MetadataScanner } from '@nestjs/core';
import { idempotentSettings } from './idempotent.decorator.js';
import type { ModulesContainer } from '@nestjs/core';
import type { IdempotentSettings } from './idempotent.decorator.js';

/** The settings of every handler with `@Idempotent()`. */
export function idempotentHandlers(modules: ModulesContainer): IdempotentSettings[] {
  const scanner = new MetadataScanner();
  const controllers = [...modules.values()].flatMap((module) => [...module.controllers.values()]);
  return controllers.flatMap(({ metatype }) => {
    const prototype = (metatype as { prototype?: Record<string, unknown> } | null)?.prototype;
    if (!prototype) return [];
    return scanner.getAllMethodNames(prototype).flatMap((method) => {
      const handler = prototype[method];
      const settings = typeof handler === 'function' && idempotentSettings(handler);
      return settings ? [settings] : [];
    });
  });
}

import { findSourceMap } from 'node:module';

/**
 * An `Error.prepareStackTrace` that gives positions in the sources. Node's own calls a function without a name `<anonymous>`,
 * and Jest leaves such lines out.
 */
export function mappedStack(error, frames) {
  return [Error.prototype.toString.call(error), ...frames.map(mapped)].join('\n    at ');
}

function mapped(frame) {
  const text = String(frame).replace('file://', '');
  const map = findSourceMap(frame.getFileName() ?? '');
  const { originalLine, originalColumn } =
    map?.findEntry(frame.getLineNumber() - 1, frame.getColumnNumber() - 1) ?? {};
  if (originalLine === undefined) return text;
  return text.replace(/:\d+:\d+(\)?)$/, `:${originalLine + 1}:${originalColumn + 1}$1`);
}

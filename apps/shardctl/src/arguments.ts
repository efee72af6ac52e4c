import { InvalidArgumentError, Option } from 'commander';

/** A whole number within bounds, for `Option.argParser`. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It is a whole number from ${least} to ${most}.`);
  };
}

/** Seconds, with a fraction if need be. */
export function seconds(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && value >= 0.001 && value <= most) return value;
    throw new InvalidArgumentError(`It is a number of seconds up to ${most}.`);
  };
}

export function shardOption(does: string): Option {
  return new Option('--shard <name>', does);
}

export function groupOption(does: string): Option {
  return new Option('--group <number>', does).argParser(wholeNumber(0, 255));
}

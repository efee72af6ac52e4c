import { printable } from '../output/printable.js';
import type { Sources } from '../configuration.js';
import type { Verb } from '../verb.js';

export const config: Verb = {
  name: 'config',
  group: 'configuration',
  usage: '',
  summary: 'the resolved configuration, secrets masked',
  description:
    'What the module would run on: file, profile and environment laid over each other, defaults filled in. All mistakes ' +
    'are listed in one error. No database is asked.',
  options: () => [],
  examples: [
    ['config', 'as TOML'],
    ['config --profile production --json', 'what another profile makes of it'],
  ],
  async run(_call, session) {
    const { stringify } = await import('smol-toml');
    const { sourcesOf } = await import('../configuration.js');
    const { resolvedConfiguration } = await import('../resolved-configuration.js');
    const sources = sourcesOf(session.source);
    const configuration = resolvedConfiguration(await session.settings());
    return {
      json: { sources, configuration },
      text: () => `${comments(sources)}\n\n${stringify(configuration).trimEnd()}`,
    };
  },
};

function comments({ file, profile, environment }: Sources): string {
  return [
    `# file: ${file ?? 'none'}`,
    `# profile: ${profile ?? 'none'}`,
    `# environment: ${environment.join(', ') || 'nothing'}`,
  ]
    .map(printable)
    .join('\n');
}

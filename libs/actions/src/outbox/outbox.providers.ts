import { HandlerDiscovery } from './handler-discovery.js';
import { OutboxRelays } from './outbox-relays.js';
import { OutboxSignal } from './outbox-signal.js';
import { OUTBOX_SETTINGS, resolveOutbox } from './outbox-settings.js';
import { OutboxWatch } from './outbox-watch.js';
import { PUBLISHERS, Publishers } from './publishers.js';
import { Subscribers } from './subscribers.js';
import type { Provider } from '@nestjs/common';
import type { OutboxOptions } from './outbox.options.js';

/** The outbox's part of `ActionsModule`, which imports `DiscoveryModule` for it. @throws ShardingError `invalid_options` */
export function outboxProviders(options: OutboxOptions = {}): Provider[] {
  return [
    { provide: OUTBOX_SETTINGS, useValue: resolveOutbox(options) },
    { provide: PUBLISHERS, useValue: options.publishers ?? [] },
    OutboxSignal,
    Subscribers,
    HandlerDiscovery,
    Publishers,
    OutboxRelays,
    OutboxWatch,
  ];
}

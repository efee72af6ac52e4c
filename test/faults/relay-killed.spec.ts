import { Injectable } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { EventType, OnEvent } from '@app/actions';
import { bootEvents, emit, eventOf, eventShards, untilDelivered } from '../support/event-shards.js';
import { RelayProcess } from '../support/relay-process.js';
import type { HandledEvent } from '@app/actions';

const KILLS = 3;

@EventType('note.written')
class NoteWritten {}

@Injectable()
class Handlers {
  readonly answers: boolean[] = [];
  @OnEvent(NoteWritten, { name: 'note-it' })
  async handle(_event: NoteWritten, { once, aggregateId }: HandledEvent) {
    const insert = 'insert into notes (tenant_id, body) values ($1, $2)';
    this.answers.push(await once((tx) => tx.query(insert, ['acme', aggregateId])));
  }
}

it(`a relay killed ${KILLS} times between effect and end loses no event and doubles no effect`, async () => {
  const databases = await eventShards(1);
  const { database } = databases.options();
  const writer = await bootEvents(databases.options(), [], { relay: 'off' });
  let injected = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    await emit(writer, 'shard0', [eventOf(`note-${kill}`), eventOf(`other-${kill}`)]);
    const relay = await RelayProcess.start({ database });
    await relay.committed();
    await relay.committed();
    await relay.kill();
    injected++;
  }
  const app = await bootEvents(databases.options(), [Handlers], { leaseMs: 300 });
  await untilDelivered(databases);
  const { answers } = app.get(Handlers);
  const bodies = await databases.query(0, 'select body from notes order by id');
  await app.close();
  await writer.close();
  expect(injected).toBe(KILLS);
  expect(answers).toHaveLength(2 * KILLS);
  expect(bodies).toHaveLength(2 * KILLS);
  expect(new Set(bodies.map(({ body }) => body))).toEqual(
    new Set(Array.from({ length: KILLS }, (_none, kill) => [`note-${kill}`, `other-${kill}`]).flat()),
  );
}, 90_000);

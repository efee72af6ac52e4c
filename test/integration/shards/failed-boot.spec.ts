import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Inject, Injectable, Module } from '@nestjs/common';
import { ModuleRef, NestFactory } from '@nestjs/core';
import { ShardingModule, Shards } from '@app/sharding';
import { expectNoConnections, waitFor } from '@test/support';
import { ReplicatedDeployment } from '../../support/replicated.js';

/** Somebody else's module fails the boot when the loops of the library run already. */
let servers: ReplicatedDeployment;
let end: () => Promise<void>;
let watched: boolean | undefined;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
});

afterAll(() => servers.dispose());

@Injectable()
class Failing {
  constructor(
    @Inject(ModuleRef) private readonly modules: ModuleRef,
    @Inject(Shards) private readonly shards: Shards,
  ) {}

  onModuleInit(): void {
    end = () => this.modules.get(ShardingModule, { strict: false }).onApplicationShutdown();
    watched = this.shards.named('shard0').replicaStatus()?.ready;
    throw new Error('not ready to start');
  }
}

function failing() {
  @Module({ imports: [ShardingModule.forRoot(servers.options())], providers: [Failing] })
  class FailingModule {}
  return FailingModule;
}

/** What keeps this process alive. */
const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

const noneIsLeft = async () => {
  const { primary, replica } = servers;
  for (const url of [primary.url('shard0'), replica.url('shard0'), primary.url('control')])
    await expectNoConnections(url);
};

it('an application that nobody got a hold of does not keep its process alive', async () => {
  const before = sockets();
  const booting = NestFactory.createApplicationContext(failing(), { logger: false, abortOnError: false });
  await expect(booting).rejects.toThrow('not ready to start');
  try {
    expect(watched).toBe(true);
    await waitFor(async () => sockets() <= before, { what: 'nothing to keep the process alive', everyMs: 5 });
  } finally {
    await end();
  }
  await noneIsLeft();
});

it('an application that is closed leaves nothing behind', async () => {
  const app = await NestFactory.create(failing(), { logger: false, abortOnError: false });
  await expect(app.init()).rejects.toThrow('not ready to start');
  expect(watched).toBe(true);
  await app.close();
  await noneIsLeft();
});

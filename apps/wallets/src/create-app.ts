import { ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { AppModule } from './app.module.js';
import type { INestApplication, NestApplicationOptions } from '@nestjs/common';
import type { ActionsOptions } from '@app/actions';
import type { ShardingOptions } from '@app/sharding';

export interface WalletsOptions extends NestApplicationOptions {
  readonly sharding?: ShardingOptions;
  readonly actions?: ActionsOptions;
}

/** The service, ready to listen; whoever creates it closes it. */
export async function createApp({
  sharding,
  actions,
  ...nest
}: WalletsOptions = {}): Promise<INestApplication> {
  const module = AppModule.register(sharding, actions);
  const app = await NestFactory.create(module, { ...nest, return503OnClosing: true });
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
  const description = new DocumentBuilder().setTitle('Wallets').setVersion('1').build();
  SwaggerModule.setup('docs', app, () => SwaggerModule.createDocument(app, description));
  return app;
}

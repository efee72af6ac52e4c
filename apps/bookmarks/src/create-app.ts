import { ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { AppModule } from './app.module.js';
import type { INestApplication, NestApplicationOptions } from '@nestjs/common';
import type { ShardingOptions } from '@app/sharding';

/** The service, ready to listen; whoever creates it closes it. */
export async function createApp(
  sharding: ShardingOptions = {},
  { jobs, ...nest }: NestApplicationOptions & { readonly jobs?: 'on' | 'off' } = {},
): Promise<INestApplication> {
  const app = await NestFactory.create(AppModule.register(sharding, jobs), {
    ...nest,
    return503OnClosing: true,
  });
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
  const description = new DocumentBuilder().setTitle('Bookmarks').setVersion('1').build();
  SwaggerModule.setup('docs', app, () => SwaggerModule.createDocument(app, description));
  return app;
}

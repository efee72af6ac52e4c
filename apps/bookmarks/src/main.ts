import 'reflect-metadata';
import { createApp } from './create-app.js';

const app = await createApp();
app.enableShutdownHooks();
await app.listen(Number(process.env['PORT'] ?? 3000));

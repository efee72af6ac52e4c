import 'reflect-metadata';
import { createApp } from './create-app.js';

const app = await createApp();
app.enableShutdownHooks([], { useProcessExit: true }); // exit code 0 once everything is closed
await app.listen(Number(process.env['PORT'] ?? 3001));

import { startVariant, type Variant } from './apps.js';

/** The service process of `bench:request`: tells its port to the parent and ends with it. */
const [variant = '', ...urls] = process.argv.slice(2);
const app = await startVariant(variant as Variant, urls);
process.send?.((app.getHttpServer() as { address(): { port: number } }).address().port);
process.on('disconnect', () => process.exit(0));

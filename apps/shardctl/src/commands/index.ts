import { config } from './config.js';
import { doctor } from './doctor.js';
import { init } from './init.js';
import { map } from './map.js';
import { migrate } from './migrate.js';
import { pin } from './pin.js';
import { ping } from './ping.js';
import { pins } from './pins.js';
import { place } from './place.js';
import { query } from './query.js';
import { route } from './route.js';
import { schema } from './schema.js';
import { slots } from './slots.js';
import { topology } from './topology.js';
import { unpin } from './unpin.js';
import type { Verb } from '../verb.js';

/** In the order of the help page. */
export const VERBS = [
  route,
  slots,
  topology,
  map,
  pin,
  unpin,
  pins,
  place,
  ping,
  doctor,
  query,
  migrate,
  schema,
  init,
  config,
] as readonly Verb[];

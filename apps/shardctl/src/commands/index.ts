import { actions } from './actions.js';
import { audit } from './audit.js';
import { certificate } from './certificate.js';
import { config } from './config.js';
import { doctor } from './doctor.js';
import { init } from './init.js';
import { map } from './map.js';
import { migrate } from './migrate.js';
import { move } from './move.js';
import { moves } from './moves.js';
import { moveSlot } from './move-slot.js';
import { outbox } from './outbox.js';
import { pin } from './pin.js';
import { ping } from './ping.js';
import { pins } from './pins.js';
import { place } from './place.js';
import { purge } from './purge.js';
import { query } from './query.js';
import { repair } from './repair.js';
import { route } from './route.js';
import { sagas } from './sagas.js';
import { schema } from './schema.js';
import { slots } from './slots.js';
import { topology } from './topology.js';
import { unpin } from './unpin.js';
import { verify } from './verify.js';
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
  moveSlot,
  moves,
  move,
  purge,
  verify,
  certificate,
  audit,
  repair,
  actions,
  outbox,
  sagas,
  init,
  config,
] as readonly Verb[];

import { expect, it } from '@jest/globals';
import { concurrentIndex, isConcurrent } from './concurrent-statement.js';

const things = { name: 'a', table: 'things' };

it.each([
  ['create index concurrently a on things (id)', things],
  ['CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS a ON ONLY things USING btree (id)', things],
  ['/* one /* two */ */ create -- three\n index concurrently/**/a\non/**/things(id)', things],
  ['create index concurrently"A b"on"My things"(id)', { name: '"A b"', table: '"My things"' }],
  ['create index concurrently a on own . "T""x" (id)', { name: 'a', table: 'own."T""x"' }],
  ['create index concurrently überfällig on größen (id)', { name: 'überfällig', table: 'größen' }],
  ['create index concurrently "--" on "/*" (id) -- */', { name: '"--"', table: '"/*"' }],
  ['create index concurrently on things (id)', undefined],
  ['create index concurrently on on (id)', undefined],
  ['create index a on things (id) -- concurrently', undefined],
  [`create index concurrently u&"d\\0061t" on things (id)`, undefined],
  ['/* create index concurrently a on things (id) */ select 1', undefined],
])('%j builds %p', (sql, index) => expect(concurrentIndex(sql)).toEqual(index));

it.each([
  ['  drop index concurrently a', true],
  ['-- why\nreindex (verbose) table concurrently things', true],
  ['/* why */ refresh materialized view concurrently seen', true],
  ['alter table things detach partition old concurrently', true],
  ['create index "concurrently" on things (id)', false],
  ['create index a on things (id) -- not concurrently', false],
  ['create table things (); drop index concurrently a', false],
  [`comment on table things is 'create index concurrently'`, false],
])('%j is concurrent: %s', (sql, is) => expect(isConcurrent(sql)).toBe(is));

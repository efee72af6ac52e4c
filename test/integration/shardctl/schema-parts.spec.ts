import { expect, it } from '@jest/globals';
import { Shardctl } from '../../support/shardctl.js';
import { diff, drifted, found } from './schema-drift.js';

const shardctl = Shardctl.attach();

it('names what indexes, also unfinished ones, constraints and statistics differ in', async () => {
  const place = await drifted({
    everywhere: [
      'create table things (id int, a int, b int, t text, primary key (id))',
      'insert into things values (1, 1, 1), (2, 1, 1)',
      'create table targets (id int primary key)',
      'create index things_a on things (a)',
      'create index things_b on things (b)',
      'create index things_t on things (t)',
      'create unique index things_twice on things (b, id)',
      'create unique index things_u on things (id)',
      'alter table things add constraint things_check check (a > 0)',
      'alter table things add constraint things_valid check (b > 0)',
      'create statistics things_ab on a, b from things',
    ],
    on: {
      1: [
        'drop index things_a',
        'create index things_a on things (a, b)',
        'drop index things_b',
        `update pg_index set indisvalid = false where indexrelid = 'things_twice'::regclass`,
        'create index things_extra on things (b) where b > 1',
        '/* fails */ create unique index concurrently things_invalid on things (a)',
        'alter table things drop constraint things_check, add constraint things_check check (a > 1) not valid',
        'alter table things drop constraint things_valid, add constraint things_valid check (b > 0) not valid',
        'alter table things drop constraint things_pkey, add primary key (id) deferrable',
        'alter table things add constraint things_target foreign key (id) references targets not valid',
        'drop statistics things_ab',
        'create statistics things_ab (mcv) on a, b from things',
      ],
    },
  });
  expect(await diff(shardctl, place.toml)).toEqual(
    found([
      [
        'constraint things_check on public.things: definition = CHECK ((a > 1)) NOT VALID on shard1, else CHECK ((a > 0))',
        'constraint',
        'things_check on public.things',
        ['definition', 'CHECK ((a > 1)) NOT VALID', 'CHECK ((a > 0))'],
      ],
      [
        'constraint things_pkey on public.things: definition = PRIMARY KEY (id) DEFERRABLE on shard1, else PRIMARY KEY (id)',
        'constraint',
        'things_pkey on public.things',
        ['definition', 'PRIMARY KEY (id) DEFERRABLE', 'PRIMARY KEY (id)'],
      ],
      [
        'constraint things_target on public.things: only on shard1',
        'constraint',
        'things_target on public.things',
        ['exists', true, false],
      ],
      [
        'constraint things_valid on public.things: definition = CHECK ((b > 0)) NOT VALID on shard1, else CHECK ((b > 0))',
        'constraint',
        'things_valid on public.things',
        ['definition', 'CHECK ((b > 0)) NOT VALID', 'CHECK ((b > 0))'],
      ],
      [
        'index public.things_a: definition = CREATE INDEX things_a ON public.things USING btree (a, b) on shard1, else CREATE INDEX things_a ON public.things USING btree (a)',
        'index',
        'public.things_a',
        [
          'definition',
          'CREATE INDEX things_a ON public.things USING btree (a, b)',
          'CREATE INDEX things_a ON public.things USING btree (a)',
        ],
      ],
      ['index public.things_b: missing on shard1', 'index', 'public.things_b', ['exists', false, true]],
      ['index public.things_extra: only on shard1', 'index', 'public.things_extra', ['exists', true, false]],
      [
        'index public.things_invalid: only on shard1',
        'index',
        'public.things_invalid',
        ['exists', true, false],
      ],
      [
        'index public.things_twice: valid = no on shard1, else yes',
        'index',
        'public.things_twice',
        ['valid', false, true],
      ],
      [
        'statistics public.things_ab: definition = CREATE STATISTICS public.things_ab (mcv) ON a, b FROM public.things on shard1, else CREATE STATISTICS public.things_ab ON a, b FROM public.things',
        'statistics',
        'public.things_ab',
        [
          'definition',
          'CREATE STATISTICS public.things_ab (mcv) ON a, b FROM public.things',
          'CREATE STATISTICS public.things_ab ON a, b FROM public.things',
        ],
      ],
    ]),
  );
});

it('names what triggers, policies and rules differ in', async () => {
  const place = await drifted({
    everywhere: [
      'create table things (id int, a int)',
      'create function refuse() returns trigger language plpgsql as $$ begin return null; end $$',
      'create trigger one before insert on things for each row execute function refuse()',
      'create trigger two before insert on things for each row execute function refuse()',
      'create trigger three before insert on things for each row execute function refuse()',
      'create policy mine on things using (id = 1)',
      'create policy yours on things as restrictive for select to public using (id = 1)',
      'create policy his on things for insert with check (id = 1)',
      'create rule nothing as on delete to things do instead nothing',
      'create rule off as on delete to things do instead nothing',
    ],
    on: {
      1: [
        'drop trigger one on things',
        'create trigger one before insert or update on things for each row execute function refuse()',
        'alter table things disable trigger two',
        'drop trigger three on things',
        'alter policy mine on things to current_user using (id = 2)',
        'drop policy yours on things',
        'create policy yours on things for update using (id = 1)',
        'alter policy his on things with check (id = 2)',
        'create policy hers on things',
        'create or replace rule nothing as on delete to things where old.id = 1 do instead nothing',
        'alter table things disable rule off',
      ],
    },
  });
  expect(await diff(shardctl, place.toml)).toEqual(
    found([
      [
        'trigger one on public.things: definition = "CREATE TRIGGER one BEFORE INSERT OR UPDATE ON public.things FOR EACH ROW EXECUTE..." on shard1, else "CREATE TRIGGER one BEFORE INSERT ON public.things FOR EACH ROW EXECUTE FUNCTION..."',
        'trigger',
        'one on public.things',
        [
          'definition',
          'CREATE TRIGGER one BEFORE INSERT OR UPDATE ON public.things FOR EACH ROW EXECUTE FUNCTION public.refuse()',
          'CREATE TRIGGER one BEFORE INSERT ON public.things FOR EACH ROW EXECUTE FUNCTION public.refuse()',
        ],
      ],
      [
        'trigger three on public.things: missing on shard1',
        'trigger',
        'three on public.things',
        ['exists', false, true],
      ],
      [
        'trigger two on public.things: enabled = no on shard1, else yes',
        'trigger',
        'two on public.things',
        ['enabled', 'no', 'yes'],
      ],
      [
        'policy hers on public.things: only on shard1',
        'policy',
        'hers on public.things',
        ['exists', true, false],
      ],
      [
        'policy his on public.things: with check = (id = 2) on shard1, else (id = 1)',
        'policy',
        'his on public.things',
        ['with check', '(id = 2)', '(id = 1)'],
      ],
      [
        'policy mine on public.things: roles = postgres on shard1, else public',
        'policy',
        'mine on public.things',
        ['roles', 'postgres', 'public'],
      ],
      [
        'policy mine on public.things: using = (id = 2) on shard1, else (id = 1)',
        'policy',
        'mine on public.things',
        ['using', '(id = 2)', '(id = 1)'],
      ],
      [
        'policy yours on public.things: kind = permissive on shard1, else restrictive',
        'policy',
        'yours on public.things',
        ['kind', 'permissive', 'restrictive'],
      ],
      [
        'policy yours on public.things: command = update on shard1, else select',
        'policy',
        'yours on public.things',
        ['command', 'update', 'select'],
      ],
      [
        'rule nothing on public.things: definition line 2 = "ON DELETE TO public.things" on shard1, else "ON DELETE TO public.things DO INSTEAD NOTHING;"',
        'rule',
        'nothing on public.things',
        [
          'definition',
          'CREATE RULE nothing AS\n    ON DELETE TO public.things\n   WHERE (old.id = 1) DO INSTEAD NOTHING;',
          'CREATE RULE nothing AS\n    ON DELETE TO public.things DO INSTEAD NOTHING;',
        ],
      ],
      [
        'rule off on public.things: enabled = no on shard1, else yes',
        'rule',
        'off on public.things',
        ['enabled', 'no', 'yes'],
      ],
    ]),
  );
});

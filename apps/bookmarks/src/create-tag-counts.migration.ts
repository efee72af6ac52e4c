import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateTagCounts1764460900000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table tag_counts (
      tenant_id text not null,
      tag text not null,
      bookmarks int not null,
      primary key (tenant_id, tag)
    )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table tag_counts');
  }
}

import type { TestedDatabase } from '../support/program.ts'

const NOTES = 'create table settlements (id text, was text, became text)'
const SETTLES = "when (old.status <> 'processing' or new.status <> 'processing')"
const OVERWRITES = 'when (old.published_version_id is not null)'

/** Makes the database itself note each end of a version, and each change of a page that is published already. */
export const noteSettlements = async ({ env, rows }: TestedDatabase): Promise<void> => {
  await rows(NOTES)
  const isPostgres = env['DATABASE_URL']?.startsWith('postgres')
  for (const statement of isPostgres ? ON_POSTGRES : ON_SQLITE) await rows(statement)
}

const ON_SQLITE = [
  `create trigger note_settled after update on page_versions ${SETTLES}
    begin insert into settlements values (old.version_id, old.status, new.status); end`,
  `create trigger note_overwritten after update on pages ${OVERWRITES}
    begin insert into settlements values (old.latest_version_id, 'published', 'overwritten'); end`,
]
const ON_POSTGRES = [
  `create function note_settled() returns trigger language plpgsql as
    $$begin insert into settlements values (old.version_id, old.status, new.status); return null; end$$`,
  `create function note_overwritten() returns trigger language plpgsql as
    $$begin insert into settlements values (old.latest_version_id, 'published', 'overwritten'); return null; end$$`,
  `create trigger note_settled after update on page_versions
    for each row ${SETTLES} execute function note_settled()`,
  `create trigger note_overwritten after update on pages
    for each row ${OVERWRITES} execute function note_overwritten()`,
]

/** Versions that ended more than once, or whose page was changed afterwards, in words. */
export const settlementFaults = async ({ rows }: TestedDatabase): Promise<string[]> => {
  const twice = await rows<{ id: string; times: number; became: string }>(`
    select v.version_id as id, count(s.id) as times, max(s.became) as became
    from page_versions v left join settlements s on s.id = v.version_id
    group by v.version_id
    having count(s.id) <> 1 or max(s.was) <> 'processing' or max(s.became) = 'processing'`)
  return twice.map(({ id, times, became }) => `${id} ended ${times} times, at last as ${became}: not once`)
}

import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { fillSource } from '../support/moving.ts'
import { answerOf, databaseAt } from '../support/program.ts'
import { at } from '../support/rows.ts'
import { type Answers, readEverything } from './read-everything.ts'

/** Makes an embedded database with rows in every table. Returns what the API returns on it. */
export const fillFile = async (path: string): Promise<Answers> => {
  await fillSource(path)
  const store = sqliteStore({ path, busyMsMax: 5_000 }, readMigrations('sqlite'))
  await store.erasures.saveClock({ servedAt: at(0), pausedAt: null })
  const answers = await readEverything(store)
  await store.close()
  return answers
}

/** Fills an empty PostgreSQL database with the rows of such a file. */
export const fillPostgres = async (url: string, path: string): Promise<void> => {
  await answerOf(['move', '--from', `sqlite:${path}`, '--to', url], {})
  await databaseAt(url).rows(`insert into served (id, served_at) values (1, '${at(0)}')`)
}

import { join } from 'node:path'
import type { Test } from 'tap'
import {
  embeddedDatabase,
  newFolder,
  type Program,
  seed,
  startProgram,
  startServer,
} from '../support/program.ts'
import { createTraffic } from './traffic.ts'

export const ANSWER_MS_MAX = 15_000

/** A new file with a tenant, servers on it, and traffic for them. */
export const embeddedScene = async (t: Test, folder = newFolder(t)) => {
  const path = join(folder, 'test.db')
  const database = embeddedDatabase(path)
  const seeded = await seed(database.env)
  const newTraffic = () => {
    const { apiKey, pageGroupId } = seeded
    const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId], answerMsMax: 2 * ANSWER_MS_MAX })
    t.teardown(traffic.close)
    return traffic
  }
  const start = async (): Promise<Program> => {
    const server = await startServer(t, database.env)
    return server
  }
  /** Claimed work that was not settled stays claimed until its lease ends; that end is put forward. */
  const endLeases = () =>
    database.rows(
      `update page_versions set claimable_at = created_at where status = 'processing' and attempts > 0`,
    )
  return { ...seeded, path, database, start, endLeases, newTraffic, traffic: newTraffic() }
}

/** A server that listens, or what one that ended said. */
export const startOrRefusal = (t: Test, env: Readonly<Record<string, string>>) =>
  startProgram(t, env).catch((error: Error) => error.message)

import assert from 'node:assert/strict'
import type { Test } from 'tap'
import { codesOf, dial, requestOf } from '../support/dial.ts'
import { databaseKinds, seed, startServer } from '../support/program.ts'

const JSON_TYPE = 'Content-Type: application/json'
export const ACTIVITY = '{"source":"crm","payload":{}}'
const ANSWER_MS_MAX = 20_000

/** The real program on the embedded database, to be talked to over a socket. */
export const startTarget = async (t: Test) => {
  const [kind] = databaseKinds()
  assert.equal(kind?.name, 'sqlite')
  const database = await kind.open(t)
  const { apiKey, pageGroupId } = await seed(database.env)
  const program = await startServer(t, database.env)
  const port = Number(new URL(program.url).port)
  const textOf = (line: string, headers: readonly string[] = [], body = '') =>
    requestOf(line, [`x-api-key: ${apiKey}`, ...headers], body)
  const get = textOf('GET /v0/page_groups?limit=3')
  const target = {
    pageGroupId,
    textOf,
    /** A plain request. */
    get,
    /** A request to log an activity, with these headers and no others but Host and the key. */
    postOf: (headers: readonly string[], body: string = ACTIVITY) =>
      textOf('POST /v0/prospect_logs', [JSON_TYPE, ...headers], body),
    /** The same with the length of its body. */
    logOf: (body: string = ACTIVITY, headers: readonly string[] = []) =>
      textOf('POST /v0/prospect_logs', [JSON_TYPE, `Content-Length: ${body.length}`, ...headers], body),
    dial: () => dial(port),
    /** The statuses of the answers to a text on a separate connection: this many, then the end. */
    codesAfter: async (text: string, count: number) => {
      const line = dial(port).send(text)
      await inTime(line.answers(count))
      return codesOf(await inTime(line.finish().closed()))
    },
    logged: () =>
      database.rows<{ idempotency_key: string | null }>('select idempotency_key from prospect_logs'),
    /** The process lives, and answers as if nothing had been. */
    stillFine: async () => assert.deepEqual(await target.codesAfter(get, 1), [200]),
    /** Nothing went wrong within it, and it ends as it should. */
    endsWell: async () => {
      const code = await program.stop()
      assert.deepEqual(
        program.logs().filter(({ level }) => level >= 50),
        [],
      )
      assert.equal(code, 0)
    },
  }
  return target
}

export const inTime = <Answer>(answer: Promise<Answer>): Promise<Answer> => {
  const late = Promise.withResolvers<Answer>()
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), ANSWER_MS_MAX)
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer))
}

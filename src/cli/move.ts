import { moveToPostgres, type Progress } from '../adapters/move.ts'
import { database } from '../settings.ts'
import { textOf, type Values, wrongUse } from './command.ts'
import type { LoneCommand } from './lone-command.ts'

export const MOVE: LoneCommand = {
  words: 'move',
  usage: '--from sqlite:PATH --to postgres://…',
  help: 'copies all that an embedded database holds into an empty PostgreSQL; stop the server first, and run it again if it was stopped',
  options: {
    from: { type: 'string', value: 'sqlite:PATH', help: 'the embedded database; needed' },
    to: {
      type: 'string',
      value: 'postgres://…',
      help: 'an empty PostgreSQL, as a role that may make tables; needed',
    },
  },
  examples: [
    {
      does: 'everything to PostgreSQL, where both addresses are set',
      line: 'prospect-pages move --from "$DATABASE_URL" --to "$NEW_DATABASE_URL"',
    },
  ],
  operands: [],
  prepareAlone: (values) => {
    const from = addressOf(values, 'from')
    const to = addressOf(values, 'to')
    if (from.kind !== 'sqlite') return wrongUse('--from must be sqlite:PATH')
    if (to.kind !== 'postgres') return wrongUse('--to must be postgres://…')
    const tell = progressOn(process.stderr)
    return async () => ({
      moved: true,
      ...(await moveToPostgres(from.path, to.url, tell, (warning) => writeLine({ warning }))),
    })
  },
}

const addressOf = (values: Values, name: string) => {
  const given = textOf(values, name) ?? wrongUse(`--${name} is missing`)
  try {
    return database(given)
  } catch (error) {
    return wrongUse(`--${name} ${(error as Error).message}`)
  }
}

const TOLD_EVERY_MS = 1_000

/** A line when a table is done, and each second between; on a terminal in words, else as JSON. */
const progressOn = (stream: NodeJS.WriteStream) => {
  let toldMs = performance.now()
  return (progress: Progress): void => {
    const { step, table, rows, of } = progress
    if (rows < of && performance.now() - toldMs < TOLD_EVERY_MS) return
    toldMs = performance.now()
    if (stream.isTTY) stream.write(`${step} ${table}: ${rows} of ${of}\n`)
    else writeLine(progress)
  }
}

const writeLine = (line: object): void => {
  process.stderr.write(`${JSON.stringify(line)}\n`)
}

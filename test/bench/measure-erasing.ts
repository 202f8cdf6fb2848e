import { setTimeout as pause } from 'node:timers/promises'
import { CASES, type Case } from './cases.ts'
import type { ServiceContestant } from './contestants/contestant.ts'
import { launchOurs, ourContestant } from './contestants/services.ts'
import { emailOf, type Filled, idOf, type Size } from './fill.ts'
import { fillPostgres } from './fill-postgres.ts'
import { fillSqlite } from './fill-sqlite.ts'
import type { Sample } from './load.ts'
import { median, warmUp } from './measure.ts'
import type { ErasingCell, ErasingFound, Kind, Setting } from './results.ts'

const LOGS = 1_000_000
/** The activities of the person who is erased. */
const ERASED = LOGS / 10
const SIZE: Size = {
  groups: 1,
  pagesOfOthers: 10,
  bigGroupPages: 10,
  logs: LOGS,
  prospects: LOGS / 10,
  skewed: true,
}
const CALLERS = 64

/** Logging for others, before and while a person with a tenth of all logs is erased. */
export const measureErasing = async (setting: Setting): Promise<ErasingFound> => {
  const { database, folder, tell } = setting
  const erasing: ErasingCell[] = []
  for (const kind of ['postgres', 'sqlite'] as const) {
    tell(`filling ${kind}`)
    const path = `${folder}/erasing.db`
    const url = kind === 'postgres' ? (await database.newDatabase()).url : `sqlite:${path}`
    const filled = await (kind === 'postgres' ? fillPostgres(url, SIZE) : fillSqlite(path, SIZE))
    const contestant = ourContestant(kind, launchOurs(url, folder), filled)
    await contestant.start()
    try {
      erasing.push(await measureKind(kind, contestant, filled, setting))
    } finally {
      await contestant.stop()
    }
  }
  return { erasing }
}

const measureKind = async (
  kind: Kind,
  contestant: ServiceContestant,
  filled: Filled,
  { amount: { rounds, seconds }, tell }: Setting,
): Promise<ErasingCell> => {
  await warmUp(OTHERS, [contestant])
  const look = () => contestant.measure(OTHERS, { callers: CALLERS, seconds })
  const before: Sample[] = []
  while (before.length < rounds) before.push(await look())

  const began = performance.now()
  const ask = asker(contestant.service().url, filled.apiKey)
  await ask('POST', '/v0/erasures', { prospectId: idOf('prospect', 1) })
  let erasedMs: number | null = null
  const erased = (async () => {
    for (;;) {
      const [erasure] = (await ask('GET', '/v0/erasures?limit=1')).items
      if (Number(erasure?.logsErased) >= ERASED) break
      if (erasure?.status === 'completed') throw new Error(`only ${erasure.logsErased} logs were erased`)
      await pause(100)
    }
    erasedMs = performance.now() - began
  })()
  const during: Sample[] = []
  while (erasedMs === null) during.push(await look())
  await erased

  const found = { kind, before: middleOf(before), during: middleOf(during), erasedMs: Number(erasedMs) }
  tell(`${kind}: ${Math.round(found.before.rate)}/s, while erasing ${Math.round(found.during.rate)}/s`)
  return found
}

/** Activities of everybody else. */
const OTHERS: Case = {
  ...(CASES[0] as Case),
  requests: (filled, tag, cursorOf) =>
    (CASES[0] as Case)
      .requests(filled, tag, cursorOf)
      .filter(({ body }) => !body?.includes(`"${emailOf(1)}"`)),
}

const middleOf = (samples: readonly Sample[]) => ({
  rate: median(samples.map(({ rate }) => rate)),
  p99Ms: median(samples.map(({ p99Ms }) => p99Ms)),
})

const asker = (url: string, apiKey: string) => async (method: string, path: string, body?: object) => {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response.json() as Promise<{ readonly items: readonly { logsErased: number; status: string }[] }>
}

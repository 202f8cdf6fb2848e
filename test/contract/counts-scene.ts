import type { Test } from 'tap'
import { countProspectLogs } from '../../src/core/counts/count-prospect-logs.ts'
import { idsSince, timeOfId } from '../../src/core/engine/id-times.ts'
import { eraseProspects } from '../../src/core/erasures/erase-prospects.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { NewId } from '../../src/core/ports/world.ts'
import { createService } from '../../src/entry/index.ts'
import { untilCompleted } from '../store-contract/completed.ts'
import { idAt } from '../store-contract/rows.ts'
import { until } from '../support/program.ts'
import { stoppedClock } from '../support/setting.ts'
import { opened, type StoreKind } from '../support/stores.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
/** Long ago, so that the clock of the database is always ahead of the test's, and lets a tenant be closed. */
export const NOON = Date.UTC(2024, 10, 20, 12)
/** The clocks of processes may differ by half a minute, so nothing later is counted yet. */
const CLOCKS_APART_MS = 30_000
export const READ_DAYS_MAX = 31
export const payload = { rawJson: '{}' }
const neverAborted = new AbortController().signal

/** A service with one tenant, whose activities are counted when a test says so. */
export const openScene = async (t: Test, kind: StoreKind) => {
  const { store, another } = await opened(t, kind)
  const clock = stoppedClock(NOON)

  let idsMade = 0
  /** An id of the clock's time, or of a millisecond after an id that it must follow. */
  const newId: NewId = (prefix, after) => {
    const isBehind = after !== undefined && timeOfId(after) >= clock()
    idsMade++
    return idAt(prefix, isBehind ? timeOfId(after) + 1 : clock(), String(idsMade).padStart(16, '0'))
  }

  const service = createService({ store, clock, newId, background: 'elsewhere' })
  t.teardown(service.close)
  const { tenantId } = await service.createTenant({ name: 'One' })

  const log = (fields: object = {}) =>
    service.logProspectActivity({ tenantId, source: 'crm', payload, email: 'ada@example.com', ...fields })

  /** Whether any tenant whose counts are read has logs to count, or must be counted again. */
  const hasLogsToCount = async () => {
    const firstIdAt = (ms: number) => idsSince('prospectlog', new Date(ms).toISOString())
    const waiting = await store.counts.waiting({
      afterTenantId: '',
      readSince: new Date(clock() - READ_DAYS_MAX * DAY_MS).toISOString(),
      beforeId: firstIdAt(clock() - CLOCKS_APART_MS),
      beyondId: firstIdAt(clock()),
      max: 1,
    })
    return waiting.length > 0
  }

  /** The counting of a process that has just started. One call counts until it finds nothing more to do. */
  const newCounter = (on: Store = store) => {
    const countNext = countProspectLogs({ store: on, clock, onError: (error) => t.fail(String(error)) })
    return async () => {
      while (await countNext(neverAborted)) {}
    }
  }

  /** A process that counts until nothing is left. Open writes of other tests on the server may hold it up. */
  const newFullCounter = (on: Store = store) => {
    const count = newCounter(on)
    return async () => {
      const countOnce = async () => {
        if (!(await hasLogsToCount())) return true
        await count()
        return false
      }
      await until('everything is counted', countOnce, { tries: 60_000, pauseMs: 1 })
    }
  }

  /** The counts as a caller reads them. A row is the day and hour, source, type and count: `20T12 crm webhook 1`. */
  const readCounts = async (query: object = {}) => {
    const { items, countedUntil } = (await service.listProspectLogCounts({ tenantId, ...query })).value
    const rows = items.map(({ at, source, type, count }) => `${dayAndHour(at)} ${source} ${type} ${count}`)
    return { rows, countedUntil }
  }

  return { store, another, clock, newId, service, tenantId, log, newCounter, newFullCounter, readCounts }
}
export type Scene = Awaited<ReturnType<typeof openScene>>

/** `20T12` of `2024-11-20T12:00:00.000Z`. */
export const dayAndHour = (time: string) => time.slice(8, 13)

/** Erases a prospect with all that was logged for it. */
export const erase = async ({ store, clock, service, tenantId }: Scene, email: string) => {
  await service.eraseProspect({ tenantId, email })
  const eraseNext = eraseProspects({ store, clock })
  await untilCompleted(store.erasures, clock, async () => {
    while (await eraseNext(neverAborted)) {}
  })
}

/** Lets time pass while a process counts every twenty seconds. */
export const passTimeCounting = async (clock: Scene['clock'], countAll: () => Promise<void>, ms: number) => {
  const pauseMs = 20_000
  for (let leftMs = ms; leftMs > 0; leftMs -= pauseMs) {
    clock.advance(Math.min(leftMs, pauseMs))
    await countAll()
  }
}

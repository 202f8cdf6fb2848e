import { randomUUID } from 'node:crypto'
import { docsRoutes } from '../adapters/http/docs/routes.ts'
import { createHttpServer } from '../adapters/http/node/server.ts'
import { metricsRoute } from '../adapters/http/public-routes.ts'
import { createNewId } from '../adapters/ids.ts'
import type { Log } from '../adapters/log.ts'
import { memoryStore } from '../adapters/memory/store.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'
import { readMigrations } from '../adapters/migrations.ts'
import { chatCompletionsNamer } from '../adapters/naming/chat-completions.ts'
import { postgresStore } from '../adapters/postgres/store.ts'
import { sqliteStore } from '../adapters/sqlite/store.ts'
import type { Config } from '../config/config.ts'
import { refuse } from '../core/failures.ts'
import type { Store } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { composeApi } from './api.ts'
import { composePublisher } from './publisher.ts'
import { observe, type Telemetry } from './telemetry.ts'

/** In case the signal that keys have changed is lost. */
const KEYS_REMEMBERED_MS_MAX = 30_000
/** Statements of all callers that wait for a connection. */
const STATEMENTS_WAITING_MAX = 2_000

/** The store that the settings name. Opens the embedded file; connects to nothing yet. */
const openStore = (config: Config, log: Log, metrics: Metrics | null = null): Store => {
  const { database } = config
  if (database.kind === 'memory') return memoryStore()
  if (database.kind === 'sqlite')
    return sqliteStore({ path: database.path, busyMsMax: config.statementMsMax }, readMigrations('sqlite'))
  const settings = {
    url: database.url,
    connectionsMax: config.databaseConnectionsMax,
    statementMsMax: config.statementMsMax,
    lockMsMax: 2_000,
    waitingMax: STATEMENTS_WAITING_MAX,
    waitMsMax: 2_000,
    ...(config.databasePooler && { pooler: { directUrl: config.databaseDirectUrl } }),
    ...(metrics && { observer: metrics.database }),
  }
  return postgresStore(settings, readMigrations('postgres'), (message) => log.warn(message))
}

type Runtime = Telemetry & {
  readonly store: Store
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
}
export const createRuntime = (config: Config, log: Log, telemetry: Telemetry = {}): Runtime => {
  const store = openStore(config, log, telemetry.metrics)
  return {
    ...telemetry,
    store: telemetry.metrics?.measured(store) ?? store,
    clock: Date.now,
    newId: createNewId(),
    log,
  }
}

/** The composition root: settings in, a service out. Nothing runs before `start`. */
export const compose = (config: Config, runtime: Runtime) => {
  const { store, clock, newId } = runtime
  const { requests, publishing, measuredNamer, scrape, onMalformed } = observe(runtime)
  let state: 'starting' | 'serving' | 'stopping' = 'starting'
  const isStopping = () => state === 'stopping'

  const { api, useCases, forgetKeys } = composeApi({
    ...requests,
    store: refusingWhile(() => state === 'starting', store),
    clock,
    newId,
    settings: config,
    keysRememberedMsMax: KEYS_REMEMBERED_MS_MAX,
    // The embedded database does one thing at a time; on PostgreSQL a second list fills the time the first one waits.
    listsInFlightMax: config.database.kind === 'postgres' ? 2 : 1,
    ready: oneAtATime(async () => {
      if (state !== 'serving') refuse('unavailable', `The service is ${state}.`, { retryAfterS: 1 })
      await store.ready()
    }),
    rawRoutes: [...(config.docs ? docsRoutes() : []), ...(scrape ? [metricsRoute(scrape)] : [])],
  })
  const http = createHttpServer({ api, limits: config, newRequestId: randomUUID, onMalformed })
  const { namer, namerMsMax, namerCallsMax, publisherPollMs } = config
  const publisher = composePublisher({
    ...publishing,
    store,
    clock,
    namer: measuredNamer(namer && chatCompletionsNamer({ ...namer, msMax: namerMsMax })),
    namerMsMax,
    namerCallsMax,
    pollMs: publisherPollMs,
  })

  return {
    api,
    useCases,
    listen: () => http.listen(config.host, config.port, config.workers > 1),
    /** Migrates, then serves and publishes. Refuses `unavailable` while the database is away: try again. */
    start: async (): Promise<void> => {
      await store.migrate()
      // Nobody would close what is opened after `close`.
      if (isStopping()) return
      store.watch((signal) => {
        if (signal === 'keys') forgetKeys()
        // After the callers who created the versions have their answers.
        else setImmediate(publisher.wake)
      })
      state = 'serving'
      publisher.start()
    },
    /** Answers the requests in flight, commits queued writes, and leaves no version half done. */
    close: async (): Promise<void> => {
      state = 'stopping'
      await http.drain(config.drainMsMax)
      await publisher.stop()
      await store.close()
    },
  }
}

/** A store that identifies nobody for now: it may not be migrated yet. */
const refusingWhile = (isStarting: () => boolean, store: Store): Store => ({
  ...store,
  apiKeys: {
    ...store.apiKeys,
    findByHash: async (keyHash) =>
      isStarting()
        ? refuse('unavailable', 'The service is starting.', { retryAfterS: 1 })
        : store.apiKeys.findByHash(keyHash),
  },
})

/** Callers that ask while a check is in flight share its result. */
const oneAtATime = (check: () => Promise<void>): (() => Promise<void>) => {
  let checking: Promise<void> | undefined
  return () => {
    checking ??= check().finally(() => {
      checking = undefined
    })
    return checking
  }
}

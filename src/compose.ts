import { randomUUID } from 'node:crypto'
import { createApi } from './adapters/http/api.ts'
import { docsRoutes } from './adapters/http/docs/routes.ts'
import { metricsRoutes } from './adapters/http/metrics-route.ts'
import { createRateLimit } from './adapters/http/rate-limit.ts'
import { createHttpServer } from './adapters/http/server.ts'
import { createNewId } from './adapters/ids.ts'
import type { Log } from './adapters/log.ts'
import { memoryStore } from './adapters/memory/store.ts'
import type { Metrics } from './adapters/metrics/metrics.ts'
import { postgresStore } from './adapters/postgres/store.ts'
import { readMigrations } from './adapters/read-migrations.ts'
import { sqliteStore } from './adapters/sqlite/store.ts'
import { composeCallers } from './compose-callers.ts'
import { composePublisher } from './compose-publisher.ts'
import type { Config } from './config.ts'
import { refuse } from './core/failures.ts'
import type { Clock, NewId, Store } from './core/ports.ts'
import { observe, type Watching } from './observe.ts'
import { composeUseCases } from './use-cases.ts'

/** Should the signal that keys have changed be lost. */
const REMEMBERED_MS_MAX = 30_000

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
    waitingMax: config.queuedCallsMax,
    waitMsMax: 2_000,
    ...(config.databasePooler && { pooler: { directUrl: config.databaseDirectUrl } }),
    ...(metrics && { observer: metrics.database }),
  }
  return postgresStore(settings, readMigrations('postgres'), (message) => log.warn(message))
}

type Means = { readonly store: Store; readonly clock: Clock; readonly newId: NewId }
type World = Means & Watching & { readonly log: Log }
export const realWorld = (config: Config, log: Log, watching: Watching = {}): World => ({
  ...watching,
  store: openStore(config, log, watching.metrics),
  clock: Date.now,
  newId: createNewId(),
  log,
})

/** The composition root: settings in, a service out. Nothing runs before `start`. */
export const compose = (config: Config, world: World) => {
  const { clock } = world
  const observed = observe(world)
  const { store, onPage, onFailedAttempt, onPublisherError, onBadMessage } = observed
  const stopwatch = () => performance.now()

  // The embedded database does one thing at a time; on PostgreSQL a second list fills the time the first one waits.
  const useCases = composeUseCases(
    { ...world, store, watch: world.metrics?.gathering, onPage },
    config,
    config.database.kind === 'postgres' ? 2 : 1,
  )

  const callers = composeCallers({
    apiKeys: store.apiKeys,
    clock,
    wrongKeysPerMinute: config.wrongKeysPerMinute,
    rememberedMsMax: REMEMBERED_MS_MAX,
  })
  const publisher = composePublisher({
    store,
    clock,
    namer: config.namer && observed.chatNamer({ ...config.namer, msMax: config.namerMsMax }),
    namerMsMax: config.namerMsMax,
    namerCallsMax: config.namerCallsMax,
    pollMs: config.publisherPollMs,
    onFailedAttempt,
    onError: onPublisherError,
  })

  let looking: Promise<void> | undefined
  /** However many ask at once whether the store is ready, it is asked once. */
  const storeReady = (): Promise<void> => {
    looking ??= store.ready().finally(() => {
      looking = undefined
    })
    return looking
  }

  let state: 'starting' | 'serving' | 'stopping' = 'starting'
  const stopping = () => state === 'stopping'
  const api = createApi({
    useCases,
    identify: (apiKey, address) =>
      state === 'starting'
        ? refuse('unavailable', 'The service is starting.', { retryAfterS: 1 })
        : callers.identify(apiKey, address),
    rateLimit:
      config.rateLimitPerMinute === null ? null : createRateLimit(config.rateLimitPerMinute, stopwatch),
    requestsInFlightMax: config.requestsInFlightMax,
    requestsAtOnceMax: config.requestsAtOnceMax,
    bodyBytesHeldMax: config.bodyBytesHeldMax,
    newRequestId: randomUUID,
    ready: () =>
      state === 'serving'
        ? storeReady()
        : refuse('unavailable', `The service is ${state}.`, { retryAfterS: 1 }),
    rawRoutes: [...(config.docs ? docsRoutes() : []), ...metricsRoutes(observed.scrape)],
    ...observed.requests,
  })
  const http = createHttpServer({
    api,
    limits: config,
    newRequestId: randomUUID,
    onBadMessage,
  })

  return {
    api,
    useCases,
    listen: () => http.listen(config.host, config.port, config.workers > 1),
    /** Migrates, then serves and publishes. Refuses `unavailable` where the database is away: try again. */
    start: async (): Promise<void> => {
      await store.migrate()
      // Told to stop meanwhile: what would be opened now nobody would close.
      if (stopping()) return
      store.watch((signal) => {
        if (signal === 'keys') callers.forget()
        // Who created the pages hears of it first.
        else setImmediate(publisher.wake)
      })
      state = 'serving'
      publisher.start()
    },
    /** Requests under way are answered, queued writes committed, versions not left half done. */
    close: async (): Promise<void> => {
      state = 'stopping'
      await http.drain(config.drainMsMax)
      await publisher.stop()
      await store.close()
    },
  }
}

import { randomUUID } from 'node:crypto'
import { createApi } from './adapters/http/api.ts'
import { PROBLEMS } from './adapters/http/problems.ts'
import { createRateLimit } from './adapters/http/rate-limit.ts'
import { createHttpServer } from './adapters/http/server.ts'
import { limitWrongKeys } from './adapters/http/wrong-keys.ts'
import { createNewId } from './adapters/ids.ts'
import type { Log } from './adapters/log.ts'
import { memoryStore } from './adapters/memory/store.ts'
import { chatCompletionsNamer } from './adapters/naming/chat-completions.ts'
import { postgresStore } from './adapters/postgres/store.ts'
import { createPublisher, LEASE_MARGIN_MS, PUBLISHER_REST_MS } from './adapters/publisher.ts'
import { readMigrations } from './adapters/read-migrations.ts'
import { sqliteStore } from './adapters/sqlite/store.ts'
import type { Config } from './config.ts'
import { apiKeyHash, isApiKeyText } from './core/api-key-text.ts'
import { refuse } from './core/failures.ts'
import { identify } from './core/identify.ts'
import type { Clock, NewId, Store } from './core/ports.ts'
import { publishVersions } from './core/publish-versions.ts'
import { rememberApiKeys } from './core/remember-api-keys.ts'
import { onwardClock } from './core/times.ts'
import { composeUseCases, LIST_LENGTH_MAX } from './use-cases.ts'

export { composeUseCases }

const REMEMBERED_KEYS = { keysMax: 10_000, msMax: 30_000 }

/** The store that the settings name. Opens the embedded file; connects to nothing yet. */
const openStore = (config: Config, log: Log): Store => {
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
  }
  return postgresStore(settings, readMigrations('postgres'), (message) => log.warn(message))
}

type World = { readonly store: Store; readonly clock: Clock; readonly newId: NewId; readonly log: Log }
export const realWorld = (config: Config, log: Log): World => ({
  store: openStore(config, log),
  clock: Date.now,
  newId: createNewId(),
  log,
})

/** The composition root: settings in, a service out. Nothing runs before `start`. */
export const compose = (config: Config, world: World) => {
  const { store, clock, log } = world
  const stopwatch = () => performance.now()
  const newRequestId = randomUUID

  // The embedded database does one thing at a time; on PostgreSQL a second list fills the time the first one waits.
  const useCases = composeUseCases(world, config, config.database.kind === 'postgres' ? 2 : 1)

  const keys = rememberApiKeys(store.apiKeys.findByHash, stopwatch, REMEMBERED_KEYS)
  const identifyKnown = identify({ apiKeys: { ...store.apiKeys, findByHash: keys.findByHash }, clock })
  const wasRight = (apiKey: string) => isApiKeyText(apiKey) && keys.wasRight(apiKeyHash(apiKey))
  const identifyCaller =
    config.wrongKeysPerMinute === null
      ? identifyKnown
      : limitWrongKeys({
          identify: identifyKnown,
          wasRight,
          perMinute: config.wrongKeysPerMinute,
          stopwatch,
        })

  const publisher = createPublisher({
    publish: publishVersions({
      store,
      clock,
      waitClock: onwardClock(clock, stopwatch),
      namer: config.namer && chatCompletionsNamer({ ...config.namer, msMax: config.namerMsMax }),
      claimMax: config.namer ? config.namerCallsMax : LIST_LENGTH_MAX,
      leaseMs: config.namerMsMax + LEASE_MARGIN_MS,
      onFailedAttempt: ({ versionId, attempt }, why) =>
        log.warn({ versionId, attempt, err: why }, 'naming failed'),
    }),
    pollMs: config.publisherPollMs,
    restMs: PUBLISHER_REST_MS,
    onError: (error) => log.error({ err: error }, 'publishing failed; it goes on'),
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
        : identifyCaller(apiKey, address),
    rateLimit:
      config.rateLimitPerMinute === null ? null : createRateLimit(config.rateLimitPerMinute, stopwatch),
    requestsInFlightMax: config.requestsInFlightMax,
    requestsAtOnceMax: config.requestsAtOnceMax,
    bodyBytesHeldMax: config.bodyBytesHeldMax,
    newRequestId,
    ready: () =>
      state === 'serving'
        ? storeReady()
        : refuse('unavailable', `The service is ${state}.`, { retryAfterS: 1 }),
    onAnswered: (answered) => log.info(answered, 'answered'),
    onError: (error, requestId) => log.error({ err: error, requestId }, 'a request failed'),
  })
  const http = createHttpServer({
    api,
    limits: config,
    newRequestId,
    onBadMessage: (requestId, { kind, message }) =>
      log.info({ requestId, status: PROBLEMS[kind].status, code: kind, detail: message }, 'answered'),
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
      store.watch((signal) => (signal === 'keys' ? keys.forget() : publisher.wake()))
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

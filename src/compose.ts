import { randomUUID } from 'node:crypto'
import { createApi } from './adapters/http/api.ts'
import { PROBLEMS } from './adapters/http/problems.ts'
import { createRateLimit } from './adapters/http/rate-limit.ts'
import type { UseCases } from './adapters/http/routes.ts'
import { createHttpServer } from './adapters/http/server.ts'
import { limitWrongKeys } from './adapters/http/wrong-keys.ts'
import { createNewId } from './adapters/ids.ts'
import type { Log } from './adapters/log.ts'
import { memoryStore } from './adapters/memory/store.ts'
import type { AskBacklog } from './adapters/metrics/backlog.ts'
import type { Metrics } from './adapters/metrics/metrics.ts'
import { chatCompletionsNamer } from './adapters/naming/chat-completions.ts'
import { postgresStore } from './adapters/postgres/store.ts'
import { createPublisher } from './adapters/publisher.ts'
import { readMigrations } from './adapters/read-migrations.ts'
import { sqliteStore } from './adapters/sqlite/store.ts'
import type { OpenTelemetry } from './adapters/tracing/open-telemetry.ts'
import { createPageTraces } from './adapters/tracing/page-traces.ts'
import type { Config } from './config.ts'
import { apiKeyHash, isApiKeyText } from './core/api-key-text.ts'
import { createPagesWithVersion, type OnPage } from './core/create-page-with-version.ts'
import { refuse } from './core/failures.ts'
import { gather } from './core/gather.ts'
import { getPages } from './core/get-page.ts'
import { identify } from './core/identify.ts'
import { listPageGroups, slicesOfPageGroups } from './core/list-page-groups.ts'
import { listPages, slicesOfPages } from './core/list-pages.ts'
import { logProspectActivities } from './core/log-prospect-activity.ts'
import type { Clock, NewId, Store } from './core/ports.ts'
import { publishVersions } from './core/publish-versions.ts'
import { rememberApiKeys } from './core/remember-api-keys.ts'
import { onwardClock } from './core/times.ts'

/** A list of 200 costs little more than a list of one; a longer one keeps its callers waiting. */
const LIST_LENGTH_MAX = 200
/** Pages that are read may be as heavy as a body may be. */
const READ_PAGES_MAX = 64
const LIST_CHARACTERS_MAX = 4_194_304
const REMEMBERED_KEYS = { keysMax: 10_000, msMax: 30_000 }
const PUBLISHER_REST_MS = 10
/** A lease outlives the call to the namer by this. */
const LEASE_MARGIN_MS = 20_000

/** The store that the settings name. Opens the embedded file; connects to nothing yet. */
const openStore = (config: Config, log: Log, metrics: Metrics | null = null) => {
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
    ...(metrics && { watch: metrics.database }),
  }
  return postgresStore(settings, readMigrations('postgres'), (message) => log.warn(message))
}

/** What looks on. Each of them may be missing. */
type Watching = {
  readonly metrics?: Metrics | null
  /** What `/metrics` answers where it is more than the figures of this process. */
  readonly scrape?: (() => Promise<string>) | undefined
  readonly openTelemetry?: OpenTelemetry | null
}
/** What watches this service, as far as that is wished for: nothing else of it is even loaded. */
export const loadWatching = async (config: Config): Promise<Watching> => ({
  metrics: config.metrics ? (await import('./adapters/metrics/metrics.ts')).createMetrics() : null,
  openTelemetry: await (await import('./adapters/tracing/open-telemetry.ts')).findOpenTelemetry(),
})
/** The figures of several processes, where there are any. */
export const loadSums = async () => (await import('./adapters/metrics/sums.ts')).createSums()

type World = Watching & {
  readonly store: Store & { readonly backlog?: AskBacklog }
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
}
export const realWorld = (config: Config, log: Log, watching: Watching = {}): World => ({
  ...watching,
  store: openStore(config, log, watching.metrics),
  clock: Date.now,
  newId: createNewId(),
  log,
})

/** The five operations over a store, each gathering the calls that arrive together; equal reads share an answer. */
export const composeUseCases = (
  { store, clock, newId, metrics, onPage }: Omit<World, 'log'> & { readonly onPage?: OnPage },
  config: Pick<Config, 'requireIdentity' | 'queuedCallsMax'>,
  listsUnderWayMax: number,
): UseCases => {
  const limits = {
    listLengthMax: LIST_LENGTH_MAX,
    listWeightMax: LIST_CHARACTERS_MAX,
    listsUnderWayMax,
    queuedMax: config.queuedCallsMax,
  }
  const watch = (operation: keyof UseCases) => metrics?.gathering(operation)
  const lineOf = ({ tenantId }: { readonly tenantId: string }) => tenantId
  const read = { lineOf, sameAs: JSON.stringify }
  return {
    logProspectActivity: gather(
      logProspectActivities({ store, clock, newId, requireIdentity: config.requireIdentity }),
      limits,
      {
        lineOf,
        weightOf: ({ payload, email }) => payload.rawJson.length + (email?.length ?? 0),
        watch: watch('logProspectActivity'),
      },
    ),
    listPageGroups: listPageGroups({
      slice: gather(slicesOfPageGroups({ store }), limits, { ...read, watch: watch('listPageGroups') }),
    }),
    listPages: listPages({
      slice: gather(slicesOfPages({ store }), limits, { ...read, watch: watch('listPages') }),
    }),
    getPage: gather(
      getPages({ store }),
      { ...limits, listLengthMax: READ_PAGES_MAX },
      { ...read, watch: watch('getPage') },
    ),
    createPageWithVersion: gather(createPagesWithVersion({ store, clock, newId, onPage }), limits, {
      lineOf,
      watch: watch('createPageWithVersion'),
      weightOf: ({ supplementaryContext }) => supplementaryContext?.length ?? 0,
    }),
  }
}

/** The composition root: settings in, a service out. Nothing runs before `start`. */
export const compose = (config: Config, world: World) => {
  const { clock, log, metrics = null, openTelemetry = null } = world
  const store = metrics ? metrics.measured(metrics.counted(world.store)) : world.store
  const stopwatch = () => performance.now()
  const newRequestId = randomUUID

  // The embedded database does one thing at a time; on PostgreSQL a second list fills the time the first one waits.
  const traces = createPageTraces(openTelemetry)
  const useCases = composeUseCases(
    {
      ...world,
      store,
      onPage: (pageId, { traceparent }) => traceparent && traces.remember(pageId, traceparent),
    },
    config,
    config.database.kind === 'postgres' ? 2 : 1,
  )

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

  const chatNamer =
    config.namer && chatCompletionsNamer({ ...config.namer, msMax: config.namerMsMax, traced: traces.send })
  const publisher = createPublisher({
    publish: publishVersions({
      store,
      clock,
      waitClock: onwardClock(clock, stopwatch),
      namer: chatNamer && metrics ? metrics.timed(chatNamer) : chatNamer,
      claimMax: config.namer ? config.namerCallsMax : LIST_LENGTH_MAX,
      leaseMs: config.namerMsMax + LEASE_MARGIN_MS,
      onFailedAttempt: (version, why) => {
        metrics?.namingFailed()
        const { versionId, attempt } = version
        log.warn({ versionId, attempt, ...traces.lineOf(version), err: why }, 'naming failed')
      },
    }),
    pollMs: config.publisherPollMs,
    restMs: PUBLISHER_REST_MS,
    onError: (error) => {
      metrics?.publishingFailed()
      log.error({ err: error }, 'publishing failed; it goes on')
    },
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
    onAsked: metrics?.asked,
    onAnswered: (answered) => {
      metrics?.answered(answered)
      log.info(answered, 'answered')
    },
    onError: (error, requestId, trace) => log.error({ err: error, requestId, ...trace }, 'a request failed'),
    tracing: openTelemetry,
    metrics: metrics ? (world.scrape ?? metrics.text) : undefined,
  })
  const http = createHttpServer({
    api,
    limits: config,
    newRequestId,
    onBadMessage: (requestId, { kind, message }, trace) => {
      const { status } = PROBLEMS[kind]
      metrics?.malformed(status)
      log.info({ requestId, status, code: kind, detail: message, ...trace }, 'answered')
    },
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

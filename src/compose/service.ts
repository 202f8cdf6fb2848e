import { randomUUID } from 'node:crypto'
import { dirname } from 'node:path'
import { workInBackground } from '../adapters/background-work.ts'
import { consoleRoutes } from '../adapters/http/console/routes.ts'
import { docsRoutes } from '../adapters/http/docs/routes.ts'
import { mcpRoute } from '../adapters/http/mcp/route.ts'
import { metricsRoute } from '../adapters/http/metrics-route.ts'
import { createHttpServer } from '../adapters/http/node/server.ts'
import { createNewId } from '../adapters/ids.ts'
import type { Job } from '../adapters/job-runner.ts'
import type { Log } from '../adapters/log.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'
import { chatCompletionsNamer } from '../adapters/naming/chat-completions.ts'
import { watchQueues } from '../adapters/queue-watch.ts'
import { readMigrations } from '../adapters/stores/migrations.ts'
import { createSecrets, createSecretsWith } from '../adapters/webhooks/secrets.ts'
import type { Config } from '../config/config.ts'
import type { PostgresUrl } from '../config/database-address.ts'
import { countUsage } from '../core/counts/count-usage.ts'
import { readyToRead } from '../core/engine/obstacles.ts'
import { MINUTE_MS } from '../core/engine/times.ts'
import type { Used } from '../core/ports/counts.ts'
import type { Needs, Store } from '../core/ports/store.ts'
import type { Clock } from '../core/ports/world.ts'
import type { WebhookTools } from '../core/webhooks/webhook-tools.ts'
import { webhookTools } from '../service/webhook-tools.ts'
import { composeApi } from './api.ts'
import { backUpFirst, createBackups } from './backups.ts'
import { counterJobs } from './counter.ts'
import { createEraser } from './eraser.ts'
import { indexerJobs } from './indexer.ts'
import { observeWork, watchDatabase } from './observe-work.ts'
import { patientReadiness } from './patient-readiness.ts'
import { createPublisher } from './publisher.ts'
import { createServing } from './serving.ts'
import { measureSizes } from './sizes.ts'
import { observe, type Telemetry } from './telemetry.ts'
import { logKeyChange, watchKeys } from './watch-keys.ts'
import { createWebhooks } from './webhooks.ts'

/** Bounded, because the signal that keys changed can be lost. */
const KEYS_REMEMBERED_MS_MAX = 30_000
const WATCH_MS = MINUTE_MS
/** Statements of all callers that wait for a connection. */
const STATEMENTS_WAITING_MAX = 2_000

const ALLOW_LISTS = 'WEBHOOKS_ALLOWED_HOSTS or WEBHOOKS_ALLOWED_NETWORKS'

/** Opens the store that the settings name; only that is imported. Connects to nothing yet. */
const openStore = async (config: Config, log: Log, metrics: Metrics | null = null): Promise<Store> => {
  const { database } = config
  if (database.kind === 'sqlite') return openSqlite(database.path, config, log, metrics)
  if (database.kind === 'postgres')
    return openPostgres(config.connections.url ?? database.url, config, log, metrics)
  const { memoryStore } = await import('../adapters/memory/store.ts')
  return memoryStore({ everyEvent: config.events === 'on' })
}

const openSqlite = async (path: string, config: Config, log: Log, metrics: Metrics | null) => {
  const { NETWORK_RISK, riskyFileSystem } = await import('../adapters/sqlite/file-systems.ts')
  const { fileAt } = await import('../adapters/sqlite/place.ts')
  const { sqliteStore } = await import('../adapters/sqlite/store.ts')
  const fileSystem = riskyFileSystem(dirname(fileAt(path)))
  if (fileSystem) log.warn({ path, fileSystem }, `The database is on ${fileSystem}: ${NETWORK_RISK}`)
  const settings = {
    path,
    busyMsMax: config.statementMsMax,
    everyEvent: config.events === 'on',
    beforeMigrating: backUpFirst(path, config, log),
    gathering: metrics?.gathering,
  }
  const notify = (message: string, isUsable: boolean) => (isUsable ? log.info(message) : log.error(message))
  return sqliteStore(settings, readMigrations('sqlite'), notify)
}

const openPostgres = async (
  url: PostgresUrl,
  config: Config,
  log: Log,
  metrics: Metrics | null,
): Promise<Store> => {
  const pooler = config.databasePooler ? { pooler: { directUrl: config.connections.directUrl } } : {}
  const observer = metrics ? { observer: { ...metrics.database, gathering: metrics.gathering } } : {}
  const settings = {
    ...pooler,
    ...observer,
    url,
    connectionsMax: config.databaseConnectionsMax,
    statementMsMax: config.statementMsMax,
    lockMsMax: 2_000,
    waitingMax: STATEMENTS_WAITING_MAX,
    waitMsMax: 2_000,
    everyEvent: config.events === 'on',
  }
  const warn = (message: string) => log.warn(message)
  if (config.databaseCluster) {
    const { citusStore } = await import('../adapters/citus/store.ts')
    return citusStore(settings, readMigrations('postgres'), warn)
  }
  const { postgresStore } = await import('../adapters/postgres/store.ts')
  return postgresStore(settings, readMigrations('postgres'), warn)
}

type Runtime = Telemetry & Needs<keyof Store> & { readonly log: Log }
export const createRuntime = async (config: Config, log: Log, telemetry: Telemetry = {}) => {
  const store = await openStore(config, log, telemetry.metrics)
  const measured = telemetry.metrics?.measured(store) ?? store
  return { ...telemetry, store: measured, clock: Date.now, newId: createNewId(), log }
}

/** The tools of webhooks. By default secrets have the keys that were set at the start. */
export const webhooksOf = (
  config: Config,
  clock: Clock,
  secrets = createSecrets(config.secretsKey, config.secretsKeyPrevious),
): WebhookTools => {
  const { webhooksAllowedHosts: allowedHosts, webhooksAllowedNetworks: allowedNetworks } = config
  const options = { allowedHosts, allowedNetworks, answers: config.webhookAnswers }
  return { ...webhookTools(options, clock, ALLOW_LISTS), secrets }
}

/** The composition root: settings in, a service out. Nothing runs before `start`. */
export const compose = (config: Config, runtime: Runtime) => {
  const { store, clock, newId, log } = runtime
  const usage = countUsage({ store, clock })
  const queues = watchQueues(store, clock)
  const use = (used: Used): void => {
    queues.noteActivity()
    usage.add(used)
  }
  const { requests, scrape, onMalformed } = observe({ ...runtime, use })
  const { publishing, erasing, sending, counting, measuredNamer } = observeWork(runtime)
  measureSizes(config, runtime)
  const ready = config.databaseCluster ? patientReadiness(store.ready) : store.ready
  const serving = createServing(store, ready)

  const keysNow = config.followSecretsKeys?.(logKeyChange(log))
  const webhooks = webhooksOf(config, clock, keysNow && createSecretsWith(keysNow))
  const { api, useCases, onSignal } = composeApi({
    ...requests,
    store: serving.store,
    clock,
    newId,
    newRequestId: randomUUID,
    webhooks,
    publicUrl: config.publicUrl,
    background: 'elsewhere',
    settings: config,
    keysRememberedMsMax: KEYS_REMEMBERED_MS_MAX,
    ready: serving.ready,
    rawRoutes: [
      ...(config.docs ? docsRoutes() : []),
      ...(config.console ? consoleRoutes((message) => log.warn(message)) : []),
      ...(config.mcp ? [mcpRoute(config.publicUrl)] : []),
      ...(scrape ? [metricsRoute(scrape)] : []),
    ],
  })
  const http = createHttpServer({ api, limits: config, newRequestId: randomUUID, onMalformed })
  const { namerPatienceMs, namerCallsMax, publisherPollMs: pollMs } = config
  const { retentionDays, eventDaysKept, counts } = config
  const namer = config.namer && measuredNamer(chatCompletionsNamer(config.namer))
  const deps = { store, clock, newId }
  const jobs: Job[] = [
    ...counterJobs({ ...deps, counts }),
    ...indexerJobs(deps),
    { pollMs: MINUTE_MS, restMs: 0, createStep: () => usage.save },
    {
      pollMs: WATCH_MS,
      restMs: 0,
      createStep: () => watchDatabase(log, store.ready),
    },
  ]
  if (keysNow !== undefined) {
    jobs.push({ pollMs: WATCH_MS, restMs: 0, createStep: () => watchKeys(keysNow) })
  }
  const background = [
    createPublisher({ ...publishing, ...deps, namer, namerPatienceMs, namerCallsMax, pollMs }, queues),
    createEraser({ ...erasing, ...deps, retentionDays, eventDaysKept }, queues),
    workInBackground({ ...counting, store }, jobs, queues),
    createWebhooks({ ...sending, ...deps, pollMs }, webhooks, queues),
    createBackups(config, runtime),
  ]

  return {
    api,
    useCases,
    /** Listens on the socket with this descriptor, or where the settings say. */
    listen: (fd?: number) => http.listen(fd ?? config.host, config.port),
    /** Migrates, then serves, publishes, erases and sends webhooks. While it refuses `unavailable`, try again. */
    start: async (): Promise<void> => {
      await store.migrate()
      await readyToRead(store)
      // Anything opened after `close` would never be closed.
      if (serving.isStopping()) return
      store.watch(onSignal)
      serving.start()
      for (const work of background) work.start()
    },
    /** Answers the requests in flight, commits queued writes, and leaves no version half done. */
    close: async (): Promise<void> => {
      serving.stop()
      await http.drain(config.drainMsMax)
      await Promise.all(background.map((work) => work.stop()))
      await store.close()
    },
  }
}

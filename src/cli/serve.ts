import cluster from 'node:cluster'
import { fstatSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLog, type Log } from '../adapters/log.ts'
import { compose, createRuntime } from '../compose/service.ts'
import { loadTelemetry } from '../compose/telemetry.ts'
import type { Config } from '../config/config.ts'
import { misspeltSettings } from '../config/near-names.ts'
import { isUnavailable } from '../core/engine/failures.ts'
import { orNull } from '../core/engine/outcome.ts'
import { greeting } from './first-run.ts'
import { passedSocket, removeLeftSocket } from './listen-place.ts'
import { explained } from './refusals.ts'
import { addressOf, type Role, reportRefusal, standaloneRole, workerRole } from './role.ts'
import { superviseWorkers } from './supervise-workers.ts'

const RETRY_MS = 500

/**
 * Migrates, serves and publishes until SIGTERM, SIGINT or SIGHUP; a second one ends the process at once. With `WORKERS` this
 * process only supervises as many workers on one port.
 */
export const serve = async (config: Config): Promise<void> => {
  const log = createLog(config.logLevel)
  // Node would print the whole error, and a database driver attaches entire rows to its errors.
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception')
    process.exit(1)
  })
  if (cluster.isPrimary)
    for (const { warning, ...names } of misspeltSettings(process.env)) log.warn(names, warning)
  try {
    if (cluster.isPrimary && config.host.startsWith('/')) await removeLeftSocket(config.host)
    if (config.workers === 1) await serveHere(config, log, standaloneRole(log))
    else if (cluster.isPrimary) await superviseWorkers(config, log)
    else await serveHere(config, log, workerRole).catch(reportRefusal)
  } catch (error) {
    // The refusal is printed at once, and must be the last line.
    await new Promise((done) => log.flush(done))
    // Resources that are already open, such as the socket, would keep the process alive.
    setImmediate(() => process.exit())
    throw error
  }
}

const serveHere = async (config: Config, log: Log, role: Role): Promise<void> => {
  const telemetry = await loadTelemetry(config)
  const scrape = telemetry.metrics ? role.scrape?.(telemetry.metrics) : undefined
  const world = await createRuntime(config, log, { ...telemetry, scrape })
  // Lasting errors are refused before the port is open. If the database is only unavailable, the service waits below.
  await world.store.ready().catch((error) => {
    if (!isUnavailable(error)) throw error
  })
  const service = compose(config, world)
  const address = addressOf(config, await service.listen(passedSocket()))
  const stop = new AbortController()
  // Registered before the address is announced: a reader may send a signal at once.
  role.onStop(async () => {
    if (stop.signal.aborted) return
    stop.abort()
    // The process ends even if something hangs.
    setTimeout(() => process.exit(1), config.drainMsMax + 10_000).unref()
    await service.close()
    role.stopped()
    // A test of a webhook endpoint may still wait for its receiver.
    log.flush(() => process.exit())
  })
  role.listening(address)

  await retried(service.start, stop.signal, log)
  if (stop.signal.aborted) return
  role.started?.()
  collectGarbage()
  const greet = async () => {
    if (!isThrownAway()) process.stdout.write(await greeting(world, config, address.url))
    else if (await world.store.apiKeys.isEmpty()) log.warn({ remedy: CREATE_KEY }, 'there is no API key yet')
  }
  // The first of several workers does it for all.
  if ((cluster.worker?.id ?? 1) === 1) await retried(greet, stop.signal, log)
}

/** Gives back the memory that only the start needed, a sixth of all. V8 would keep it, since an idle service allocates nothing. */
const collectGarbage = () => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** Whether stdout is thrown away, as under systemd: an API key that is printed there would be lost. */
const isThrownAway = () => orNull(() => fstatSync(1).rdev === statSync('/dev/null').rdev)
const CREATE_KEY =
  'prospect-pages tenants create --name NAME; prospect-pages keys create --tenant TENANT_ID --scope all'

/** Retries until the database is available, while the service answers 503, or until it is stopped. */
const retried = async (step: () => Promise<unknown>, stop: AbortSignal, log: Log): Promise<void> => {
  for (let tries = 0; !stop.aborted; tries++) {
    try {
      await step()
      if (tries > 0 && !stop.aborted) log.info('connected to the database')
      return
    } catch (error) {
      if (!isUnavailable(error)) throw error
      const [reason, remedy] = explained(error.cause ?? error, 'migrate')
      if (tries % 20 === 0) log.warn({ reason, remedy }, 'waiting for the database')
      await pause(RETRY_MS, null, { signal: stop }).catch(() => {})
    }
  }
}

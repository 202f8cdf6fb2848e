import { fstatSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createLog, type Log } from '../adapters/log.ts'
import { compose, createRuntime } from '../compose/service.ts'
import { loadTelemetry } from '../compose/telemetry.ts'
import type { Config } from '../config/config.ts'
import { misspeltSettings } from '../config/near-names.ts'
import { isUnavailable } from '../core/engine/failures.ts'
import { orNull } from '../core/engine/or-null.ts'
import { greeting } from './first-run.ts'
import { addressOf, passedSocket, removeLeftSocket } from './listen-place.ts'
import { onSignals } from './on-signals.ts'
import { explain } from './refusals.ts'

const RETRY_MS = 500

/** Migrates, serves and publishes until SIGTERM or SIGINT, or until its terminal is closed; a second one ends the process at once. */
export const serve = async (config: Config): Promise<void> => {
  const log = createLog(config.logLevel, config.logLevels)
  // Node would print the whole error, and a database driver attaches entire rows to its errors.
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception')
    process.exit(1)
  })
  for (const { warning, ...names } of misspeltSettings(process.env)) log.warn(names, warning)
  try {
    if (config.host.startsWith('/')) await removeLeftSocket(config.host)
    await serveUntilStopped(config, log)
  } catch (error) {
    // The refusal is printed at once, and must be the last line.
    await new Promise((done) => log.flush(done))
    // Resources that are already open, such as the socket, would keep the process alive.
    setImmediate(() => process.exit())
    throw error
  }
}

const serveUntilStopped = async (config: Config, log: Log): Promise<void> => {
  const world = await createRuntime(config, log, await loadTelemetry(config))
  // Lasting errors are refused before the port is open. If the database is only unavailable, the service waits below.
  await world.store.ready().catch((error) => {
    if (!isUnavailable(error)) throw error
  })
  const service = compose(config, world)
  const address = addressOf(config, await service.listen(passedSocket()))
  const stop = new AbortController()
  // Registered before the address is announced: a reader may send a signal at once.
  onSignals(log, async () => {
    stop.abort()
    // The process ends even if something hangs.
    setTimeout(() => process.exit(1), config.drainMsMax + 10_000).unref()
    await service.close()
    log.info('stopped')
    // A test of a webhook endpoint may still wait for its receiver.
    log.flush(() => process.exit())
  })
  log.info(address, 'listening')

  await retried(service.start, stop.signal, log)
  if (stop.signal.aborted) return
  await retried(
    async () => {
      if (!isThrownAway()) process.stdout.write(await greeting(world, config, address.url))
      else if (await world.store.apiKeys.isEmpty())
        log.warn({ remedy: CREATE_KEY }, 'there is no API key yet')
    },
    stop.signal,
    log,
  )
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
      const { text: reason, remedy } = explain(error.cause ?? error, 'migrate')
      if (tries % 20 === 0) log.warn({ reason, remedy }, 'waiting for the database')
      await pause(RETRY_MS, null, { signal: stop }).catch(() => {})
    }
  }
}

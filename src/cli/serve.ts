import cluster from 'node:cluster'
import { createLog, type Log } from '../adapters/log.ts'
import { compose, createRuntime } from '../compose.ts'
import type { Config } from '../config.ts'
import { DomainFailure } from '../core/failures.ts'
import { loadTelemetry } from '../telemetry.ts'
import { firstRun } from './first-run.ts'
import { alone, type Role, urlOf } from './role.ts'
import { screenOf } from './screen.ts'
import { superviseWorkers } from './supervise-workers.ts'
import { workUnderPrimary } from './worker.ts'

const TRY_AGAIN_MS = 500

/**
 * Migrates, serves and publishes until SIGTERM or SIGINT; a second one of either ends at once. With `WORKERS` this
 * process only supervises, and as many others do that on one port.
 */
export const serve = async (config: Config): Promise<void> => {
  const log = createLog(config.logLevel)
  endByBugs(log)
  if (config.workers === 1) await serveHere(config, log, alone(log))
  else if (cluster.isPrimary) await superviseWorkers(config, log)
  else await workUnderPrimary((role) => serveHere(config, log, role))
}

/** Node would end the process too, but print all of the error: a database driver hangs whole rows on its own. */
const endByBugs = (log: Log): void => {
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'a fault that nobody caught ends the process')
    process.exit(1)
  })
}

const serveHere = async (config: Config, log: Log, role: Role): Promise<void> => {
  const watching = await loadTelemetry(config)
  const { metrics } = watching
  const world = createRuntime(config, log, {
    ...watching,
    scrape: metrics ? role.scrape(metrics) : undefined,
  })
  const service = compose(config, world)
  const port = await service.listen()
  const url = urlOf(config.host, port)
  let stop: () => void = () => {}
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
  })
  role.onStop(async () => {
    stop()
    // Whatever hangs, the process ends.
    setTimeout(() => process.exit(1), config.drainMsMax + 10_000).unref()
    await service.close()
    role.stopped()
    log.flush()
    process.exitCode = 0
  })
  // Whoever is told may send a signal at once.
  role.listening({ host: config.host, port, url, database: config.database.kind })

  if (!(await whenPossible(service.start, stopped, log))) return
  role.started()
  const greet = async () => {
    const greeting = await firstRun(world, url, screenOf(process.stdout, process.env).paint)
    if (greeting !== null) process.stdout.write(greeting)
  }
  if (config.database.kind !== 'postgres') await whenPossible(greet, stopped, log)
}

/** A database that is away may come yet: until then the service listens and answers 503. */
const whenPossible = async (
  step: () => Promise<void>,
  stopped: Promise<void>,
  log: Log,
): Promise<boolean> => {
  let isStopped = false
  void stopped.then(() => {
    isStopped = true
  })
  for (let tries = 0; !isStopped; tries++) {
    try {
      await step()
      return true
    } catch (error) {
      if (!(error instanceof DomainFailure) || error.kind !== 'unavailable') throw error
      if (tries % 20 === 0) log.warn({ err: error }, 'waiting for the database')
      await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS))])
    }
  }
  return false
}

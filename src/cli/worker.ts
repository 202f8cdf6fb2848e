import cluster from 'node:cluster'
import { DomainFailure, type FailureKind } from '../core/failures.ts'
import type { Role } from './role.ts'
import { type ScrapeReport, scrapeByPrimary } from './worker-scrape.ts'

/** What a worker tells the primary. */
export type Report =
  | ScrapeReport
  | { readonly kind: 'listening' }
  | { readonly kind: 'started' }
  | { readonly kind: 'refused'; readonly failure: FailureKind | null; readonly detail: string }

const tell = (report: Report, then: () => void = () => {}): void => {
  if (process.connected) process.send?.(report, undefined, undefined, then)
  else then()
}

/** Serves as one of several. It logs nothing about its coming and going: the primary does, once for all. */
export const workUnderPrimary = async (serve: (role: Role) => Promise<void>): Promise<void> => {
  try {
    await serve({
      listening: () => tell({ kind: 'listening' }),
      started: () => tell({ kind: 'started' }),
      onStop: onFirstCall,
      // Ends the last thing that keeps the process alive.
      stopped: () => {
        if (process.connected) cluster.worker?.disconnect()
      },
      scrape: scrapeByPrimary,
    })
  } catch (error) {
    const failure = error instanceof DomainFailure ? error.kind : null
    const detail = error instanceof Error ? error.message : String(error)
    tell({ kind: 'refused', failure, detail }, () => process.exit(1))
  }
}

/**
 * However many signals come, they are one: a terminal sends its own to every process and the primary passes it on.
 * Only the primary ends a worker at once. A worker that has lost its primary answers what is under way and ends.
 */
const onFirstCall: Role['onStop'] = (stop) => {
  let stopping = false
  const stopOnce = () => {
    if (stopping) return
    stopping = true
    void stop()
  }
  process.on('SIGTERM', stopOnce).on('SIGINT', stopOnce)
  const { worker } = cluster
  worker?.once('disconnect', () => {
    // Otherwise `node:cluster` would end the process here and now.
    worker.exitedAfterDisconnect = true
    stopOnce()
  })
}

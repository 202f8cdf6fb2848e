import { type Background, workInBackground } from '../adapters/background-work.ts'
import { checkOptions } from '../config/check-options.ts'
import { noteBackground } from '../service/unattended.ts'
import { type CounterOptions, counterJobs } from './counter.ts'
import { type EraserOptions, eraserJobs } from './eraser.ts'
import { type IndexerOptions, indexerJobs } from './indexer.ts'
import { type PublisherOptions, publisherJobs } from './publisher.ts'
import { type WebhooksOptions, webhookJobs } from './webhooks.ts'

/** The options of the work in the background. Omitted settings have the defaults of the service. */
export type BackgroundOptions = PublisherOptions &
  EraserOptions &
  CounterOptions &
  IndexerOptions &
  WebhooksOptions

/**
 * Completes from now on all accepted work over a store: publishes versions, completes erasures, deletes expired data,
 * counts activities, indexes people for the search, and sends webhooks. Several processes share the work.
 */
export const startBackground = (options: BackgroundOptions): Omit<Background, 'start'> => {
  checkOptions('startBackground', options)
  const jobs = [
    ...publisherJobs(options),
    ...eraserJobs(options),
    ...counterJobs(options),
    ...indexerJobs(options),
    ...webhookJobs(options),
  ]
  const background = workInBackground(options, jobs)
  background.start()
  noteBackground()
  return background
}

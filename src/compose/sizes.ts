import { type Sizes, sizeMetrics } from '../adapters/metrics/size-metrics.ts'
import type { Config } from '../config/config.ts'
import type { Store } from '../core/ports/store.ts'
import { copiesOf } from '../maintenance/copies.ts'
import { disksOf } from '../maintenance/disks.ts'
import type { Telemetry } from './telemetry.ts'

type Runtime = Pick<Telemetry, 'metrics'> & { readonly store: Pick<Store, 'sizes'> }

/** Adds the sizes of the database, its backups and its disks to the metrics. */
export const measureSizes = (config: Config, { store, metrics }: Runtime): void => {
  if (metrics) sizeMetrics(metrics.instruments, () => readSizes(config, store))
}

/** Each part is read separately: if the database cannot answer, a full disk may be why. */
const readSizes = async (config: Config, store: Runtime['store']): Promise<Sizes> => {
  const database = store.sizes?.().catch(() => null) ?? null
  const disks = disksOf(config).catch(() => [])
  const copies = await copiesOf(config)
  const isEmbedded = config.database.kind === 'sqlite'
  return {
    database: await database,
    backupsBytes: isEmbedded ? copies.reduce((sum, { bytes }) => sum + bytes, 0) : null,
    disks: await disks,
  }
}

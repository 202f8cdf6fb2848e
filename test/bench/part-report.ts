import type { Machine } from './machine.ts'
import type { PartName } from './options.ts'
import type { Measured } from './results.ts'

const BUSY_MAX = 0.05

/** The conditions of a part's measurement. */
export const partText = (name: PartName, { machine, amount, tookMs }: Measured): string =>
  [
    `== ${name}: ${amount.rounds} × ${amount.seconds} s, medians; took ${Math.ceil(tookMs / 60_000)} minutes${amount.quick ? '; QUICK: a try, not a result' : ''}`,
    machineText(machine),
  ].join('\n')

const machineText = (machine: Machine): string =>
  [
    `${machine.date.slice(0, 10)}, ${machine.cores} × ${machine.cpu}, ${machine.memoryGib} GiB, ${machine.system}`,
    `a flush takes ${machine.flushMs.toFixed(2)} ms${machine.flushesToMemory ? ' (INTO MEMORY: nothing here is durable)' : ''}`,
    ...(machine.busyBefore > BUSY_MAX
      ? [`OTHERS TAKE ${Math.round(machine.busyBefore * 100)} % OF THE PROCESSORS: these figures are too low`]
      : []),
    `node ${machine.node}, PostgreSQL ${machine.postgres} (shared_buffers ${machine.sharedBuffersMib} MiB), ${machine.load}`,
    `prospect-pages ${machine.prospectPages} at ${machine.commit}; ${Object.entries(machine.packages)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}`,
  ].join('\n')

import { setTimeout as pause } from 'node:timers/promises'
import { CASES, type CaseName, newTag } from './cases.ts'
import type { Memory } from './contestants/service.ts'
import { type Launch, ourCursor } from './contestants/services.ts'
import type { Filled } from './fill.ts'
import { load } from './load.ts'
import { median } from './measure.ts'

export type Footprint = {
  readonly name: string
  /** From the start of the process to its first answer, median of some starts. */
  readonly startMs: number
  readonly idleMib: number | null
  /** After a mixed load of 64 callers, and the most there ever was. */
  readonly loadedMib: number | null
  readonly peakMib: number | null
}
/** Without `filled` it is not loaded. */
export type Footed = { readonly name: string; readonly launch: Launch; readonly filled: Filled | null }

const MIXED: readonly CaseName[] = ['log-new', 'log-known', 'groups', 'pages-first', 'page', 'create-many']
const IDLE_MS = 2_000

/** Start and memory of a service, in separate processes. */
export const footprintOf = async (
  { name, launch, filled }: Footed,
  { starts, seconds }: { readonly starts: number; readonly seconds: number },
): Promise<Footprint> => {
  const startsMs: number[] = []
  for (let i = 0; i < starts; i++) {
    const service = await launch()
    startsMs.push(service.startMs)
    await service.stop()
  }
  const service = await launch()
  try {
    await pause(IDLE_MS)
    const idle = service.memory()
    let loaded: Memory = { residentMib: null, peakMib: null }
    if (filled !== null) {
      for (const one of CASES.filter((one) => MIXED.includes(one.name)))
        await load({ url: service.url, apiKey: filled.apiKey }, one.requests(filled, newTag(), ourCursor), {
          callers: 64,
          seconds,
        })
      loaded = service.memory()
    }
    return {
      name,
      startMs: median(startsMs),
      idleMib: idle.residentMib,
      loadedMib: loaded.residentMib,
      peakMib: loaded.peakMib,
    }
  } finally {
    await service.stop()
  }
}

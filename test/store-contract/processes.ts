import type { Clock, NewId, Store } from 'prospect-pages/store'
import type { Core, Subject } from './contract.ts'
import { stoppedClock } from './setting.ts'

type World = { readonly store: Store; readonly clock: Clock; readonly newId: NewId }

/** The operations over a store, as the service composes them: those that log remember so many prospects. */
export const operationsOver = (core: Core, world: World, entriesMax = 3) => {
  const activities = core.remembering(world.store.activities, entriesMax)
  return {
    logProspectActivity: core.logProspectActivity({ ...world, store: { ...world.store, activities } }),
    createProspect: core.createProspect(world),
    createPageWithVersion: core.createPageWithVersion(world),
    listPageGroups: core.listPageGroups(world),
    listPages: core.listPages(world),
    getPage: core.getPage(world),
    listVersions: core.listVersions(world),
    getVersion: core.getVersion(world),
  }
}

/** Two processes on the same data: each with a separate store, ids and memory. */
export const twoProcesses = async ({ core, another }: Subject) => {
  const clock = stoppedClock()
  const start = async () => {
    const world = { store: await another(), clock, newId: core.createNewId() }
    return { ...world, ...operationsOver(core, world) }
  }
  const processes = [await start(), await start()] as const
  return { clock, processes, processAt: (i: number) => processes[i % 2 === 0 ? 0 : 1] }
}

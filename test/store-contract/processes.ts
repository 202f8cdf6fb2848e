import type { Clock, NewId, Store } from 'prospect-pages'
import type { RememberedProspects } from '#use-cases'
import type { Core, Subject } from './contract.ts'
import { stoppedClock } from './setting.ts'

type World = { readonly store: Store; readonly clock: Clock; readonly newId: NewId }

/** Logs activities of remembered prospects first, without a look-up. */
const logWithMemory = (
  core: Core,
  world: World,
  remembered: RememberedProspects,
): ReturnType<Core['logProspectActivities']> => {
  const logAll = core.logProspectActivities({ ...world, remembered })
  return async (inputs) => {
    const located = inputs.map((input) => remembered.locate(input))
    const known = (await logAll(located.filter((activity) => activity.remembered))).values()
    const others = (await logAll(located.filter((activity) => !activity.remembered))).values()
    return located.flatMap((activity) => (activity.remembered ? known : others).next().value ?? [])
  }
}

/** The operations over a store, gathering calls that arrive together as the service does. */
export const operationsOver = (
  core: Core,
  world: World,
  listsInFlightMax: number,
  remembered = core.rememberProspects(3),
) => {
  const writes = { listLengthMax: 200, listsInFlightMax }
  return {
    logProspectActivity: core.gather(logWithMemory(core, world, remembered), writes),
    createProspect: core.gather(core.createProspects(world), writes),
    createPageWithVersion: core.gather(core.createPagesWithVersion(world), writes),
    listPageGroups: core.listPageGroups(world),
    listPages: core.listPages(world),
    getPage: core.getPage(world),
    listVersions: core.listVersions(world),
    getVersion: core.getVersion(world),
  }
}

/** Two processes on the same data: each with a separate store, ids and gathered operations. */
export const twoProcesses = async ({ core, another }: Subject) => {
  const clock = stoppedClock()
  const start = async () => {
    const world = { store: await another(), clock, newId: core.createNewId() }
    return { ...world, ...operationsOver(core, world, 2) }
  }
  const processes = [await start(), await start()] as const
  return { clock, processes, turnOf: (i: number) => processes[i % 2 === 0 ? 0 : 1] }
}

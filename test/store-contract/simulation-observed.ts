import { hash } from 'node:crypto'
import type { Clock, NewEvent, Store } from 'prospect-pages/store'
import { idAt } from './rows.ts'
import { VERBS } from './verbs.ts'

type Port = keyof typeof VERBS
type AnyVerb = (...args: readonly unknown[]) => Promise<unknown>

/**
 * A store that records which verbs are called, such as `pages.find`, and gives each event an id that follows from its time
 * and its content, so that events have the same ids and order in every store.
 */
export const observed = (store: Store, called: Set<string>, clock: Clock): Store => {
  const eventNames = eventNamesBy(clock)

  const observe =
    (name: string, verb: AnyVerb): AnyVerb =>
    async (...args) => {
      called.add(name)
      const { nameEvent, countAsSaved } = eventNames()
      const answer = await verb(...args.map((arg) => (areEvents(arg) ? arg.map(nameEvent) : arg)))
      if (answer !== null && answer !== 'overtaken') countAsSaved()
      return answer
    }

  const observedPort = (port: Port) => {
    const verbs = store[port] as unknown as Record<string, AnyVerb>
    const observedVerbs: Record<string, AnyVerb> = {}
    for (const name of Object.keys(VERBS[port]))
      observedVerbs[name] = observe(`${port}.${name}`, verbs[name] as AnyVerb)
    return observedVerbs
  }

  const ports: Record<string, Record<string, AnyVerb>> = {}
  for (const port of Object.keys(VERBS) as Port[]) ports[port] = observedPort(port)
  return { ...store, ...ports }
}

/** Names for the events of a call. Equal ones that are saved in the same millisecond are counted, to tell them apart. */
const eventNamesBy = (clock: Clock) => {
  let ms = clock()
  let savedOf = new Map<string, number>()
  return () => {
    if (ms !== clock()) {
      ms = clock()
      savedOf = new Map()
    }
    const contents = new Set<string>()
    const nameEvent = (event: NewEvent): NewEvent => {
      const content = JSON.stringify([event.type, event.ids])
      contents.add(content)
      const digits = hash('sha256', `${content} ${savedOf.get(content) ?? 0}`).slice(0, 16)
      return { ...event, eventId: idAt('event', ms, digits) }
    }
    const countAsSaved = () => {
      for (const content of contents) savedOf.set(content, (savedOf.get(content) ?? 0) + 1)
    }
    return { nameEvent, countAsSaved }
  }
}

const areEvents = (value: unknown): value is readonly NewEvent[] =>
  Array.isArray(value) &&
  value.every((item) => typeof item === 'object' && 'eventId' in item && 'ids' in item)

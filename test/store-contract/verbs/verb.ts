import type { Ports, Things } from '../filled-tenant.ts'
import { at, type SomeTenant, someClaim } from '../rows.ts'

export type Verb = {
  /** Who calls it: requests to the API, the background workers, or the commands of an operator. */
  readonly serves: 'callers' | 'publisher' | 'commands'
  /** Reads these things, or writes to them, in the name of a tenant: their owner, or a stranger. */
  readonly ask: (ports: Ports, as: SomeTenant, things: Things) => Promise<unknown>
} & (
  | {
      /** The answer to a stranger. */
      readonly toStrangers: unknown
    }
  | {
      /** Why the verb names no tenant. */
      readonly noTenant: string
    }
)

/** The verbs of a port. The compiler checks that none is missing. */
export type PortVerbs<Port extends keyof Ports> = { readonly [Name in keyof Ports[Port]]: Verb }

/** A claim of one thing at most, which ends at once: it takes nothing from the owner. */
export const SHORT_CLAIM = someClaim({ until: at(0), max: 1 })
export const SLICE = { beforeId: null, limit: 100 }
export const NOTHING = { rows: [], resume: null }

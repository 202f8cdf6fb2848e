import type { Secrets } from '../ports/secrets.ts'
import type { ShareLoop } from '../ports/world.ts'

/** The dependencies of hooks besides a store. */
export type HookTools = {
  readonly secrets: Secrets
  /** The URL at which vendors reach this service, without a trailing slash; null if unknown. */
  readonly publicUrl: string | null
  readonly shareLoop?: ShareLoop | undefined
}

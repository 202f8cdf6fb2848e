import type * as v from 'valibot'
import type { LoggedActivity, LogTogether } from '../../core/activities/log-prospect-activity.ts'
import type { NewActivity } from '../../core/activities/new-log.ts'
import type { ProblemCode } from '../../core/engine/failures.ts'
import type { Queued } from '../../core/engine/write-queue.ts'
import type { EventData } from '../../core/events/event-data.ts'
import type { HookTools } from '../../core/hooks/hook-tools.ts'
import type { Scope } from '../../core/ports/api-keys.ts'
import type { Needs, Ports } from '../../core/ports/store.ts'
import type { ExportTools } from '../../core/prospects/export-prospect.ts'
import type { WebhookTools } from '../../core/webhooks/webhook-tools.ts'
import { type CamelCase, camelCase } from '../../json/case.ts'
import { anyId } from '../../shapes/input.ts'

type Shape = v.ObjectSchema<v.ObjectEntries, undefined>
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** The dependencies a use case may ask for: the parts of the store that its operation needs, and those of every service. */
export type UseCaseDeps<Part extends keyof Ports> = Needs<Part> &
  Queued &
  ExportTools & {
    /** Refuse an activity without a prospect id, an external id or an email to find its prospect by. */
    readonly requireIdentity: boolean
    /** Whether activities are counted. */
    readonly counts: boolean
    readonly webhooks: WebhookTools
    readonly hooks: HookTools
    /** The data of an event as the feed shows it, and as a webhook does. */
    readonly dataOf: EventData
    readonly webhookDataOf: EventData
    readonly logProspectActivity: (activity: NewActivity) => Promise<LoggedActivity>
    readonly logActivitiesTogether: LogTogether
  }
/** The verbs that the type of a small store leaves out of its four parts. */
export type OptionalVerb =
  | 'pageGroups.add'
  | 'pageGroups.change'
  | 'pages.change'
  | 'pages.listPublished'
  | 'versions.findByKey'
  | 'versions.tally'
type UseCase<Part extends keyof Ports> = (deps: UseCaseDeps<Part>) => (input: never) => Promise<unknown>

/** The declaration of an operation, without method, path and reference. */
type Declared<Part extends keyof Ports> = {
  /** Its title. */
  readonly summary: string
  /** Null if any key will do; several if the key needs all of them. */
  readonly scope: Scope | readonly Scope[] | null
  /**
   * The parts of the store that it uses, and its work in the background; and verbs that a small store may lack. Without
   * them, a service does not offer it.
   */
  readonly needs: readonly (Part | OptionalVerb)[]
  readonly useCase: UseCase<Part>
  /** Ids that are not in the path: over HTTP those of the request's key. */
  readonly ids?: v.ObjectEntries
  readonly query?: Shape
  readonly body?: Shape
  /** Whether no body means `{}`. */
  readonly bodyOptional?: true
  /** An idempotency key or the revisions that a change is for, over HTTP in headers; or a signal that ends a wait. */
  readonly takes?: v.ObjectEntries
  /** It takes up to 1,000 of these, in order. Over HTTP the body contains them. */
  readonly item?: Shape
  /** Absent if nothing is returned. */
  readonly answer?: v.GenericSchema
  /**
   * The size of its largest answers with the default limits, if they may be large. Over HTTP such answers are made in turns:
   * see `createAdmission`.
   */
  readonly answerBytesMax?: number
  /** Its answers are read one by one, so that several to equal requests may be in the making: see `faster.ts`. */
  readonly isReadOneByOne?: true
  /** It returns any number of answers, one by one: over HTTP as JSON lines. */
  readonly lines?: true
  /** The HTTP status of success; by default 200, or 204 without an answer. */
  readonly status?: number
  /** How many webhooks, one after another, may lead to this change; by default none. They may read anything. */
  readonly hopsMax?: number
  /** Problems in addition to those of every operation, of the ids in the path, of the cursor and of the headers. */
  readonly problems?: readonly ProblemCode[]
}

/** The size of a body, by default. */
export const ONE_BODY = 1_048_576
/** A page group has four members that may each fill a body. */
export const FOUR_BODIES = 4 * ONE_BODY

type Examples = Readonly<Record<string, { readonly summary: string; readonly value: object | string }>>
/** The texts and examples of an operation in the API's reference. */
export type Reference = {
  readonly description: string
  /** The description of the successful answer. */
  readonly done: string
  /** Another successful status, with examples. */
  readonly also?: { readonly status: 200 | 207; readonly done: string; readonly answers: Examples }
  readonly requests?: Examples
  /** None with status 204. */
  readonly answers?: Examples
  /** An example of a fault that makes a request invalid, if it has other faults than every operation of its kind. */
  readonly fault?: { readonly detail: string; readonly pointer?: string; readonly parameter?: string }
  /** The detail of `limit_reached`. */
  readonly limitReached?: string
  /** The id that `idempotency_key_reused` names. */
  readonly firstCreated?: Readonly<Record<string, string>>
}

/** An operation as the router, the OpenAPI document, the library and the command `api` read it. */
export type Operation = Declared<keyof Ports> & {
  readonly method: Method
  readonly path: string
  /** The ids of the resource, as they stand in the path: `{page_id}` is `pageId`. */
  readonly ids: v.ObjectEntries
  readonly reference: Reference
}

type IdsIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? CamelCase<Name> | IdsIn<Rest>
  : never
type OperationOf<Path extends string, Declaration> = Omit<Declaration, 'ids'> & {
  readonly method: Method
  readonly path: string
  readonly ids: { readonly [Id in IdsIn<Path>]: typeof anyId } & DeclaredIds<Declaration>
  readonly reference: Reference
}
type DeclaredIds<Declaration> = Declaration extends { readonly ids: infer Ids } ? Ids : unknown

const declare =
  (method: Method) =>
  <const Path extends string, Part extends keyof Ports, const Declaration extends Declared<Part>>(
    path: Path,
    declared: Declaration & {
      readonly needs: readonly (Part | OptionalVerb)[]
      readonly useCase: UseCase<NoInfer<Part>>
    },
    reference: Reference,
  ): OperationOf<Path, Declaration> => {
    const ids = { ...idsIn(path), ...declared.ids }
    return { ...declared, method, path, ids, reference } as unknown as OperationOf<Path, Declaration>
  }

const idsIn = (path: string): v.ObjectEntries => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => camelCase(name))
  return Object.fromEntries(names.map((name) => [name, anyId]))
}

export const get = declare('GET')
export const post = declare('POST')
export const patch = declare('PATCH')
export const remove = declare('DELETE')

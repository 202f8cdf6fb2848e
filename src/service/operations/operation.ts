import type * as v from 'valibot'
import type { ProblemCode } from '../../core/engine/failures.ts'
import type { Scope } from '../../core/ports/api-keys.ts'
import { anyId } from '../../shapes/input.ts'

type Shape = v.ObjectSchema<v.ObjectEntries, undefined>
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** What is declared of an operation besides its method and its path. */
type Declared = {
  /** What it does, as a title. */
  readonly summary: string
  /** Null if any key will do; several if the key needs all of them. */
  readonly scope: Scope | readonly Scope[] | null
  /** Ids that are not in the path: over HTTP those of the request's key. */
  readonly ids?: v.ObjectEntries
  readonly query?: Shape
  readonly body?: Shape
  /** Whether no body means `{}`. */
  readonly bodyOptional?: true
  /** An idempotency key, or the revisions that a change is for: over HTTP headers. Or a signal that ends a wait. */
  readonly takes?: v.ObjectEntries
  /** It takes up to 1,000 of these, in order. Over HTTP the body contains them. */
  readonly item?: Shape
  /** Absent if nothing is returned. */
  readonly answer?: v.GenericSchema
  /** It returns any number of these, one by one: over HTTP as JSON lines. */
  readonly lines?: true
  /** The HTTP status of success; by default 200, or 204 without an answer. */
  readonly status?: number
  /** Problems in addition to those of every operation, of the ids in the path, of the cursor and of the headers. */
  readonly problems?: readonly ProblemCode[]
}

/** An operation as the router, the OpenAPI document, the library and the command `api` read it. Its use case has its name. */
export type Operation = Declared & {
  readonly method: Method
  readonly path: string
  /** The ids of the resource, as they stand in the path: `{page_id}` is `pageId`. */
  readonly ids: v.ObjectEntries
}

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name
type IdsIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? CamelCase<Name> | IdsIn<Rest>
  : never
type OperationOf<Path extends string, Given> = Omit<Given, 'ids'> & {
  readonly method: Method
  readonly path: string
  readonly ids: { readonly [Id in IdsIn<Path>]: typeof anyId } & (Given extends { readonly ids: infer Ids }
    ? Ids
    : unknown)
}

const by =
  (method: Method) =>
  <const Path extends string, const Given extends Declared>(
    path: Path,
    declared: Given,
  ): OperationOf<Path, Given> => {
    const ids = { ...idsIn(path), ...declared.ids }
    return { ...declared, method, path, ids } as unknown as OperationOf<Path, Given>
  }

const idsIn = (path: string): v.ObjectEntries => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => camelCase(name))
  return Object.fromEntries(names.map((name) => [name, anyId]))
}
const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())

export const get = by('GET')
export const post = by('POST')
export const patch = by('PATCH')
export const remove = by('DELETE')

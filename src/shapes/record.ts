import * as v from 'valibot'
import { type Documented, documented } from './text.ts'

/** Names that valibot leaves out of every record, without an issue. */
const RESERVED_NAMES = ['__proto__', 'constructor', 'prototype']
const reservedNameIn = (input: unknown): string | undefined =>
  RESERVED_NAMES.find((name) => typeof input === 'object' && input !== null && Object.hasOwn(input, name))

/**
 * A record with names chosen by callers. Refuses names that valibot would silently drop. The OpenAPI document shows
 * `jsonSchema`, because it converts only the first schema of a pipe.
 */
export const withoutReservedNames = <Output extends object>(
  record: v.GenericSchema<Output>,
  jsonSchema: Documented['jsonSchema'],
) =>
  v.pipe(
    documented(
      v.custom<Output>(
        (input) => reservedNameIn(input) === undefined,
        ({ input }) => `must not have a member named ${reservedNameIn(input)}`,
      ),
      jsonSchema,
    ),
    record,
  )

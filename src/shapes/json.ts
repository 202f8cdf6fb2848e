import * as v from 'valibot'
import { documented } from './text.ts'

/**
 * A JSON value kept as its exact text, so that no digit and no member is lost. The text must be well-formed JSON: it is
 * answered unchanged and not checked again.
 */
export type RawJson = { readonly rawJson: string }

const isObject = (given: unknown) => typeof given === 'object' && given !== null && !Array.isArray(given)
/** Any JSON object. The parsed value is discarded: its text is stored. */
export const anyObject = (description: string) =>
  v.pipe(
    documented(v.custom<object>(isObject, 'must be an object'), {
      type: 'object',
      additionalProperties: true,
    }),
    v.description(description),
    v.transform(() => null),
  )

/** A JSON array of anything, answered as its exact text. */
export const rawArray = () => documented(v.object({ rawJson: v.string() }), { type: 'array', items: {} })

/** A JSON object of anything, answered as its exact text. */
export const rawObject = () =>
  documented(v.object({ rawJson: v.string() }), { type: 'object', additionalProperties: true })

import * as v from 'valibot'
import { documented } from './text.ts'

/**
 * A JSON value kept as the exact text in which it was given, so that no digit and no member is lost. Whoever makes one
 * has seen to it that the text is well-formed: it is answered as it is.
 */
export type RawJson = { readonly rawJson: string }

/** Any JSON object. It is only looked at, and let go: what is stored is its text. */
export const anyObject = (description: string) =>
  v.pipe(
    documented(
      v.custom<object>(
        (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
        'must be an object',
      ),
      { type: 'object', additionalProperties: true },
    ),
    v.description(description),
    v.transform(() => null),
  )

/** A JSON array of anything, answered as the text in which it was given. */
export const rawArray = () =>
  documented(
    v.custom<RawJson>((given) => typeof given === 'object' && given !== null && 'rawJson' in given),
    { type: 'array', items: {} },
  )

import * as v from 'valibot'
import { asSent } from './json.ts'
import { documented, inForm } from './text.ts'

/** A JSON object, array or string, kept as its text. */
export const anyTemplate = () =>
  inForm(
    'json',
    v.pipe(
      documented(
        v.custom<object | string>(
          (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
          'must be an object, an array or a string',
        ),
        {},
      ),
      v.transform(asSent),
    ),
  )

/** Any JSON, returned as its exact text. */
export const rawJson = () => documented(v.object({ rawJson: v.string() }), {})

import * as v from 'valibot'
import type { Fault } from '../../core/engine/failures.ts'
import { checkShape } from '../../shapes/json.ts'
import { percentDecoded } from './requests.ts'

type QueryShape = v.ObjectSchema<v.ObjectEntries, undefined>
const NO_QUERY = v.object({})
export const ONCE = 'must not be given more than once'

/** A parameter may be given once. An unknown one is refused: it may have been meant to filter a list. */
export const parseQuery = (shape: QueryShape = NO_QUERY, query: string, faults: Fault[]): unknown => {
  const values: Record<string, string> = {}
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const [name = '', ...rest] = pair.split('=')
    const parameter = decodeQuery(name) ?? name
    const value = decodeQuery(rest.join('='))
    if (!Object.hasOwn(shape.entries, parameter)) faults.push({ detail: unknownParameter(shape), parameter })
    else if (value === null) faults.push({ detail: 'must be well-formed percent-encoding', parameter })
    else if (Object.hasOwn(values, parameter)) faults.push({ detail: ONCE, parameter })
    else values[parameter] = value
  }
  const checked = checkShape(shape, values, 'parameter')
  faults.push(...checked.faults)
  return checked.output
}

const unknownParameter = ({ entries }: QueryShape): string => {
  const names = Object.keys(entries).sort().join(', ')
  return names === ''
    ? 'this operation has no query parameters'
    : `unknown parameter; the parameters are: ${names}`
}

const decodeQuery = (text: string) => percentDecoded(text.replaceAll('+', ' '))

import { DEFAULTS } from './config.ts'

/** The settings of the service, except for the given ones. */
export const withDefaults = (given: object) => {
  const isGiven = ([, value]: [string, unknown]) => value !== undefined
  return { ...DEFAULTS, ...Object.fromEntries(Object.entries(given).filter(isGiven)) }
}

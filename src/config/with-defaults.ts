import { DEFAULTS } from './config.ts'

/** The settings of the service, except for the given ones. */
export const withDefaults = (options: object) => {
  const isGiven = ([, value]: [string, unknown]) => value !== undefined
  return { ...DEFAULTS, ...Object.fromEntries(Object.entries(options).filter(isGiven)) }
}

/** Options that may be 0. */
const MAY_BE_ZERO = ['prospectsRememberedMax', 'namerPatienceMs']

/** Throws where an option that counts something is not a whole number, or is too small to ever let anything happen. */
export const checkCounts = (options: object): void => {
  for (const [name, value] of Object.entries(options)) {
    const least = MAY_BE_ZERO.includes(name) ? 0 : 1
    const isCount = /(Max|Ms|PerMinute)$/.test(name) && value !== null && value !== undefined
    if (isCount && !(Number.isSafeInteger(value) && value >= least))
      throw new TypeError(`${name} must be a whole number of at least ${least}.`)
  }
}

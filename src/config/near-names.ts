import { SETTINGS } from './settings.ts'

/** Variables whose names are nearly those of settings, each with a warning. Too much is near to a shorter name. */
export const misspeltSettings = (environment: Readonly<Record<string, string | undefined>>) =>
  Object.keys(environment).flatMap((variable) => {
    const setting = Object.keys(SETTINGS).find((name) => isNear(variable, name, 2))
    if (setting === undefined || variable in SETTINGS || variable.length < 8) return []
    return { variable, setting, warning: `${variable} is not a setting; did you mean ${setting}?` }
  })

/** Whether adding, removing or replacing at most so many letters makes them equal. */
export const isNear = (a: string, b: string, edits: number): boolean => {
  if (edits < 0) return false
  if (a === '' || b === '') return a.length + b.length <= edits
  const [moreA, moreB] = [a.slice(1), b.slice(1)]
  if (a[0] === b[0]) return isNear(moreA, moreB, edits)
  return isNear(moreA, moreB, edits - 1) || isNear(moreA, b, edits - 1) || isNear(a, moreB, edits - 1)
}

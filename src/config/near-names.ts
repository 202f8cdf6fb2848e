import { isNear } from '../shapes/near.ts'
import { SECRETS, SETTINGS } from './settings.ts'

const NAMES = [...Object.keys(SETTINGS), ...[...SECRETS].map((name) => `${name}_FILE`)]

/** Variables whose names are nearly those of settings, each with a warning. Short names are near to too many words. */
export const misspeltSettings = (environment: Readonly<Record<string, string | undefined>>) =>
  Object.keys(environment).flatMap((variable) => {
    const setting = NAMES.find((name) => isNear(variable, name, 2))
    if (setting === undefined || NAMES.includes(variable) || variable.length < 8) return []
    return { variable, setting, warning: `${variable} is not a setting; did you mean ${setting}?` }
  })

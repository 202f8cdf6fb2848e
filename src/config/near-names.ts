import { isNear } from '../shapes/near.ts'
import { SETTINGS } from './settings.ts'

/** Variables whose names are nearly those of settings, each with a warning. Short names are near to too many words. */
export const misspeltSettings = (environment: Readonly<Record<string, string | undefined>>) =>
  Object.keys(environment).flatMap((variable) => {
    const setting = Object.keys(SETTINGS).find((name) => isNear(variable, name, 2))
    if (setting === undefined || variable in SETTINGS || variable.length < 8) return []
    return { variable, setting, warning: `${variable} is not a setting; did you mean ${setting}?` }
  })

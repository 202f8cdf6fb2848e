import type { Log } from '../adapters/log.ts'
import type { KeyChange, KeySetting, SecretsKeys } from '../config/secrets-keys.ts'

/** Logs what became of a key in its file. */
export const logKeyChange =
  (log: Log) =>
  (change: KeyChange): void => {
    const { setting, became } = change
    if (became === 'replaced') log.info(REPLACED[setting])
    if (became === 'unusable') log.error(`The last key stays in use: ${setting} ${change.why}.`)
    if (became === 'usable') log.info(`${setting} can be read again, and is unchanged.`)
  }

const REPLACED: Readonly<Record<KeySetting, string>> = {
  SECRETS_KEY:
    'SECRETS_KEY was replaced: it encrypts new secrets. The key before it decrypts until this process ends.',
  SECRETS_KEY_PREVIOUS: 'SECRETS_KEY_PREVIOUS was replaced: it decrypts secrets.',
}

/** Reads the keys now and then, so that the log shows a replaced or unusable key soon, even if no secret needs it. */
export const watchKeys = (keysNow: () => SecretsKeys) => async (): Promise<boolean> => {
  keysNow()
  return false
}

import t from 'tap'
import { misspeltSettings } from '../../src/config/near-names.ts'
import { settingsHelp } from '../../src/config/settings.ts'

t.test('a variable that is nearly a setting is named with it, and never its value', async (t) => {
  const near = {
    RETENTON_DAYS: 'RETENTION_DAYS',
    SECRET_KEY: 'SECRETS_KEY',
    WEBHOOK_ALLOWED_NETWORKS: 'WEBHOOKS_ALLOWED_NETWORKS',
    LOGLEVEL: 'LOG_LEVEL',
  }
  const environment = Object.fromEntries(Object.keys(near).map((name) => [name, 'secret']))
  const expected = Object.entries(near).map(([variable, setting]) => ({
    variable,
    setting,
    warning: `${variable} is not a setting; did you mean ${setting}?`,
  }))
  t.strictSame(misspeltSettings(environment), expected)
})

t.test('settings, short names and other names are not near', async (t) => {
  const settings = Object.fromEntries(settingsHelp().map(({ name }) => [name, 'x']))
  const others = { POST: 'x', WORKER: 'x', HOSTNAME: 'x', NODE_OPTIONS: 'x', PGDATABASE: 'x', DATABASE: 'x' }
  t.strictSame(misspeltSettings({ ...settings, ...others }), [])
})

import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const chromiumBin = (): string | undefined => process.env['CHROMIUM_BIN'] ?? PLACES.find(existsSync)

/** Why nothing can be tried in a browser here; null where it can. With `BROWSER_REQUIRED` it must. */
export const whyNoBrowser = (): string | null => {
  if (chromiumBin() !== undefined) return null
  if (process.env['BROWSER_REQUIRED'])
    throw new Error('BROWSER_REQUIRED is set and there is no Chromium here')
  return 'NO CHROMIUM HERE: no page was opened in a browser'
}

/** Sends no requests except those of the page. */
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Chromium without a window, with a new and empty profile. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumBin() ?? '', args: ARGS })
